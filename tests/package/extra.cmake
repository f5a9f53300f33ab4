set_kind(package/install package 300)
set_kind(package/readme package 300)
set_kind(package/arm "script;package;slow" 1800)
set_kind(package/wheel package 600)
