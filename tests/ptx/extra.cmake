set_kind(ptx/test_ptx_sweep assemble 600)
