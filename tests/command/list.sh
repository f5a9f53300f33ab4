# list: families, parameters, JSON.
. tests/support/cli.sh

ok list
expect_out '^scatter_add +12.3 +12.8 +out\[index\[i\], :\] \+= src\[i, :\]$'
ok list -v
expect_out '^  dtype=f32\|f16\|bf16\|f64\|s32\|s64$'
expect_out '\(default f32\)$'
ok list --json
expect_out '"name":.*"scatter_add"'
expect_out '"default":.*"f32"'
refuse 2 "no kernel family \"qwertyuiop\"; there are: scatter_add, .*matmul_scaled(, [a-z0-9_]+)*$" emit qwertyuiop
refuse 2 "no parameter \"zzzzzzz\"; there are: arch, dtype, .*\.\.\.$|there are: arch, dtype" emit \
    scatter_add zzzzzzz=1
refuse 2 "no family is named 'scatter'; did you mean 'scatter_add'\?" list scatter
refuse 2 "no family is named 'zzz'; there are: scatter_add, " list zzz
refuse 2 'at most one family' list scatter_add b
# What a problem must be is in the list, not only in the refusal.
ok list tcgen05_copy
expect_out '128, 256 or 512'
ok list matmul_scaled
expect_out 'mxfp8 with mxfp4 needs a K that is a multiple of 128'
expect_out 'sm_103f'
# Every form of PTX: executed, parsed only, or unknown.
ok list --ptx vadd4
expect_out '^executed +3\.0  sm_30 +vadd4 \.u32\|s32'
ok list --ptx
expect_out '^parsed only +4\.0  sm_30 +istypep '
expect_out '^unknown +9\.1  sm_90 +multimem\.cp\.async\.bulk$'
expect_out '^[0-9]+ forms executed, [0-9]+ parsed only, [0-9]+ unknown$'
ok list --ptx mbarrier.init --json
expect_out '"support":.*"executed"'
refuse 2 "no instruction begins with 'zzz'" list --ptx zzz
