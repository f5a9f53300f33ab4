set_kind(embedding/torch "script;slow" 600)
set_kind(embedding/jax "script;slow" 600)
set_kind(embedding/tvm_ffi script 300)
