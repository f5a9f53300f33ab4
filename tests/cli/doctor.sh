# doctor: every part and the cache folder with a state and a remedy.
. tests/support/cli.sh

mkdir empty .cache && chmod 700 .cache
t doctor --toolkit empty
expect_code 0
expect_out '^ptxas +missing .*not found in .*empty: install'
expect_out '^nvjitlink +missing .*install'
expect_out '^driver +(ok|missing) '
expect_out '^device +(ok|missing) '
expect_out '^emit +ok '
expect_out "^cache +ok +$work/.cache, owner $(id -un), mode 0700, [0-9.]+ GiB free"

chmod 777 .cache
t doctor
expect_code 1
expect_out '^cache +broken .*mode 0777: others may write in it.*chmod go-w'
rm -r .cache
ok doctor
expect_out '^cache +ok .*/.cache, owner'
rm -r .cache
ok doctor --cache-dir relative/folder
expect_out "^cache +ok +$work/relative/folder, owner"
t doctor --cache-dir /proc/nowhere
expect_code 1
expect_out '^cache +broken +/proc/nowhere cannot be used: No such file'
: >.cache
t doctor
expect_code 1
expect_out '^cache +broken .*is no folder'
rm .cache
ok doctor --cache-dir ""
expect_out '^cache +missing +memory only.*PTXGEN_CACHE_DIR'
ok doctor --json
expect_out '"version"'
expect_out '"topic":.*"ptxas"'
refuse 2 "'ptxas': doctor takes options only" doctor ptxas
