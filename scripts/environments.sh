#!/usr/bin/env bash
# The tests where not everything is as usual: scripts/environments.sh [short] [ENVIRONMENT...]
#
#   user       another user than root, with a home that cannot be written to
#   interrupt  SIGINT is ignored, as in a shell script's background
#   optimize   PYTHONOPTIMIZE=2: no assertions, no docstrings (those of tests are made to count by pytest)
#   locale     LC_ALL=C, and Python is kept from making it UTF-8
#   home       no home that could be written to
#   together   all of these at once
#   path       temporary files and the current folder have blanks, brackets and bytes that are not UTF-8
#
# Each is first asked whether it is what it says. "short" takes the tests that meet files, children,
# signals and terminals, together and with the path; without it the whole suite runs in each.
set -euo pipefail
cd "$(dirname "$0")/.."
top=$PWD python=${PYTHON:-$PWD/.venv/bin/python}
short=""
if [ "${1:-}" = short ]; then
    short=1
    shift
fi
environments=("$@")
if [ $# = 0 ]; then
    environments=(together path)
    [ "$short" ] || environments=(user interrupt optimize locale home "${environments[@]}")
fi
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
chmod 755 "$work"
export OMP_WAIT_POLICY=passive PYTHONSAFEPATH=1
# Without docstrings everything is compiled again: once, not by every process.
unset PYTHONDONTWRITEBYTECODE
mkdir "$work/compiled"
chmod 777 "$work/compiled"

chosen=(--ignore="$top/tests/peers" --ignore="$top/tests/systems" "$top/tests" "$top/README.md" "$top/docs")
if [ "$short" ]; then
    chosen=("$top"/tests/interfaces/test_cli{,_train,_output}.py
        "$top"/tests/unit/test_{download,journal,letor_read,letor_write,lock,parallel,persistence,processes,writing}.py)
fi

is_so() { # COMMAND CONDITION
    local so=$1
    shift
    "$@" "$python" -c "import locale, os, signal, sys; sys.exit(not ($so))"
}

tests() { # COMMAND: runs pytest under it, in the folder "$here", with files in "$here/tmp"
    cd "$here"
    "$@" "$python" -m pytest -c "$top/pyproject.toml" --rootdir="$top" -p no:cacheprovider -q \
        --basetemp="$here/tmp" "${jobs[@]}" "${chosen[@]}"
    cd "$top"
}

not_root() { # COMMAND: as nobody; or as a user of a namespace of its own, where root's files are not closed
    if [ "$(id -u)" != 0 ]; then
        "$@"
    elif setpriv --reuid=65534 --regid=65534 --clear-groups env "$python" -c 0 2>/dev/null; then
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    else
        unshare --user --map-user=65534 --map-group=65534 "$@"
    fi
}

for environment in "${environments[@]}"; do
    echo "== $environment"
    here=$work/$environment home=$work/home jobs=(-n auto --dist worksteal)
    mkdir -p "$here" "$home"
    chmod 777 "$here"
    chmod 555 "$home"
    [ ! -w "$home" ] || home=/proc # root writes everywhere but there
    case $environment in
        user)
            with=(not_root env HOME="$work/home")
            so='os.geteuid() != 0 and not os.access(os.environ["HOME"], os.W_OK)'
            ;;
        interrupt)
            with=(env --ignore-signal=INT)
            so='signal.getsignal(signal.SIGINT) is signal.SIG_IGN'
            ;;
        optimize)
            with=(env PYTHONOPTIMIZE=2 PYTHONPYCACHEPREFIX="$work/compiled")
            so='sys.flags.optimize == 2'
            # It says that only rewritten assertions count, and sees to those.
            jobs+=(-W "ignore::pytest.PytestConfigWarning")
            ;;
        locale)
            with=(env LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0)
            so='locale.getpreferredencoding() == "ANSI_X3.4-1968"'
            ;;
        home)
            with=(env HOME="$home" XDG_CACHE_HOME="$home/cache")
            so='not os.path.isdir(os.path.expanduser("~/x")) and os.system("touch ~/x 2>/dev/null")'
            ;;
        together)
            with=(not_root env --ignore-signal=INT HOME="$work/home" PYTHONOPTIMIZE=2 PYTHONPYCACHEPREFIX="$work/compiled"
                LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0)
            so='os.geteuid() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN and sys.flags.optimize == 2'
            so+=' and locale.getpreferredencoding() == "ANSI_X3.4-1968" and not os.access(os.environ["HOME"], os.W_OK)'
            jobs+=(-W "ignore::pytest.PytestConfigWarning")
            ;;
        path)
            here=$work/$'a [b] \xff'
            mkdir -p "$here"
            with=(env)
            so='True'
            jobs=() # pytest-xdist sends names as UTF-8
            ;;
        *)
            echo "there is no environment $environment" >&2
            exit 2
            ;;
    esac
    is_so "$so" "${with[@]}" || { echo "this is not the environment that it should be" >&2; exit 1; }
    tests "${with[@]}"
done
