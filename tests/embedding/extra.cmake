set_kind(embedding/torch "script;slow" 600)
