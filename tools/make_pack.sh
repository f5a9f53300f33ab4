# sh tools/make_pack.sh COMMAND CACHE PACK MANIFEST...: compiles what the manifests list and puts it
# into one file.
#   COMMAND   the ptxgen to use
#   CACHE     a folder for what is compiled; kept, so that the next run compiles only what changed
#   PACK      the file, readable by everybody
set -eu
command=$1 cache=$2 pack=$3
shift 3
mkdir -p "$cache" "$(dirname "$pack")"
chmod 700 "$cache"
# Neither the user's settings nor a pack that is there already decide what goes in.
export PTXGEN_CONFIG= PTXGEN_CACHE_LAYERS= PTXGEN_SHIPPED_PACK=off
cat "$@" | "$command" prewarm - --cache-dir "$cache"
"$command" cache export "$pack" current --readable --force --cache-dir "$cache"
