# Sourced by tests that run Python: an interpreter that has the packages they need.
#
# python_with NAME PACKAGE...: sets `python` to one that imports the modules of these packages:
# $PTXGEN_TEST_PYTHON or python3 if it does, else that of a virtual environment NAME that is made
# once, by pip, outside of the tree ($XDG_CACHE_HOME/ptxgen-tests) and used again. Skips the test
# (77) where neither is possible.
python_with() {
    venv_name=$1
    shift
    python=${PTXGEN_TEST_PYTHON:-python3}
    command -v "$python" >/dev/null || { echo "skipped: no python3"; exit 77; }
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        { echo "skipped: python3 is older than 3.10"; exit 77; }
    modules=$(echo "$@" | tr ' -' ',_')
    ! "$python" -c "import $modules" 2>/dev/null || return 0
    venv_cache=${XDG_CACHE_HOME:-${HOME:?}/.cache}/ptxgen-tests
    venv=$venv_cache/$venv_name-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    mkdir -p "$venv_cache" || { echo "skipped: no folder for a virtual environment"; exit 77; }
    exec 8>"$venv_cache/lock"
    flock 8
    if ! "$venv/bin/python" -c "import $modules" 2>/dev/null; then
        rm -rf "$venv"
        { "$python" -m venv "$venv" &&
            timeout 150 "$venv/bin/python" -m pip install -q --disable-pip-version-check "$@"; } \
            >"$venv_cache/log" 2>&1 ||
            { rm -rf "$venv"; echo "skipped: pip could not install $*"; exit 77; }
    fi
    exec 8>&-
    python=$venv/bin/python
}
