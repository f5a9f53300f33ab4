# DLPack's own header before ours: then its types are used, and what ptxgen restates has the same
# layout. Looks at the header that is installed, and at the one in the folder that
# PTXGEN_DLPACK_INCLUDE names.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/same.c" <<'END'
#include "ptxgen/dlpack.h"

#include <stddef.h>
const size_t ours[] = {sizeof(ptxgen_dl_tensor), offsetof(ptxgen_dl_tensor, device), offsetof(ptxgen_dl_tensor, ndim),
    offsetof(ptxgen_dl_tensor, dtype), offsetof(ptxgen_dl_tensor, shape), offsetof(ptxgen_dl_tensor, strides),
    offsetof(ptxgen_dl_tensor, byte_offset), sizeof(ptxgen_dl_managed), offsetof(ptxgen_dl_managed, deleter),
    sizeof(ptxgen_dl_versioned), offsetof(ptxgen_dl_versioned, deleter), offsetof(ptxgen_dl_versioned, flags),
    offsetof(ptxgen_dl_versioned, dl_tensor)};
END
cat >"$work/theirs.c" <<'END'
#include <dlpack/dlpack.h>

#include "ptxgen/dlpack.h"

#include <stddef.h>
#include <stdio.h>
extern const size_t ours[];
#ifdef DLPACK_MAJOR_VERSION
typedef DLManagedTensorVersioned versioned;
_Static_assert(PTXGEN_DLPACK_READ_ONLY == DLPACK_FLAG_BITMASK_READ_ONLY, "flag");
_Static_assert(PTXGEN_DLPACK_MAJOR == DLPACK_MAJOR_VERSION, "version");
#else
typedef ptxgen_dl_versioned versioned;
#endif
static const size_t theirs[] = {sizeof(DLTensor), offsetof(DLTensor, device), offsetof(DLTensor, ndim),
    offsetof(DLTensor, dtype), offsetof(DLTensor, shape), offsetof(DLTensor, strides), offsetof(DLTensor, byte_offset),
    sizeof(DLManagedTensor), offsetof(DLManagedTensor, deleter), sizeof(versioned), offsetof(versioned, deleter),
    offsetof(versioned, flags), offsetof(versioned, dl_tensor)};
int main(void)
{
    DLTensor t = {0};
    const ptxgen_dlpack argument = {&t, 0}; /* the type is theirs: no cast */
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
        if (ours[i] != theirs[i])
            return printf("row %zu: %zu here, %zu in DLPack's header\n", i, ours[i], theirs[i]), 1;
    return argument.tensor != &t;
}
END
tried=0
for folder in "" ${PTXGEN_DLPACK_INCLUDE:-}; do
    include="-I$PTXGEN_SOURCE/include ${folder:+-I$folder}"
    # shellcheck disable=SC2086
    echo '#include <dlpack/dlpack.h>' | cc $include -E -x c - >/dev/null 2>&1 || continue
    # shellcheck disable=SC2086
    cc -std=c11 -Wall -Wextra -Werror $include -o "$work/same" "$work/same.c" "$work/theirs.c"
    "$work/same"
    # shellcheck disable=SC2086
    printf '#include <dlpack/dlpack.h>\n#include "ptxgen/dlpack.h"\n' |
        c++ -std=c++17 -Wall -Werror $include -fsyntax-only -x c++ -
    tried=$((tried + 1))
done
[ "$tried" -gt 0 ] || { echo "skipped: no dlpack/dlpack.h (libdlpack-dev)"; exit 77; }
echo "dlpack_header: $tried looked at"
