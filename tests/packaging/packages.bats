# Packages that run on any Linux with glibc 2.28, built from this checkout and installed where nothing else is.

# bats file_tags=long

load ../cli/common

# Packages are built once, beside the build folder, which sanitizers have of their own.
setup_file() {
    [[ $build != */build/* ]] || skip "packages are not sanitized"
    cd "$BATS_TEST_DIRNAME/../.."
    env -u MAKEFLAGS -u MAKELEVEL make wheel bundle >"$BATS_FILE_TMPDIR/made" || { cat "$BATS_FILE_TMPDIR/made" >&2; return 1; }
    wheel=$(realpath build/packages/*.whl) bundle=$(realpath build/packages/*-linux-*.tar.xz)
    export wheel bundle
    mkdir "$BATS_FILE_TMPDIR/unpacked"
    tar -C "$BATS_FILE_TMPDIR/unpacked" --strip-components=1 -xJf "$bundle"
    export unpacked=$BATS_FILE_TMPDIR/unpacked
}

# Programs and libraries of the bundle, which the wheel has, too.
binaries() {
    find "$unpacked/bin" "$unpacked/lib" -type f | while read -r file; do
        [ "$(head -c 4 "$file" | tail -c 3)" != ELF ] || echo "$file"
    done
}

@test "no binary asks for a symbol that is newer than glibc 2.28, or for a library that glibc does not have" {
    local binary newer libraries
    [ "$(binaries | wc -l)" -ge 9 ]
    for binary in $(binaries); do
        newer=$(nm -D --undefined-only "$binary" |
            awk -F 'GLIBC_' 'NF > 1 { split($2, v, "."); if (v[1] > 2 || v[2] > 28) print }')
        [ -z "$newer" ] || fail "$binary: $newer"
        libraries=$(readelf -d "$binary" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
            grep -vE '^(libc\.so\.6|libm\.so\.6|libdl\.so\.2|libpthread\.so\.0|ld-linux-.*|libcjson\.so\.1)$') || true
        [ -z "$libraries" ] || fail "$binary needs $libraries"
    done
}

@test "a wheel has at most 6 MB, notices of the libraries inside, and what its list says" {
    [ "$(stat -c %s "$wheel")" -le 6000000 ]
    python3 - "$wheel" <<'END'
import base64, hashlib, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
names = set(wheel.namelist())
assert any(name.endswith("dist-info/notices/libdw1") for name in names), names
record = next(name for name in names if name.endswith("/RECORD"))
rows = [row.rsplit(",", 2) for row in wheel.read(record).decode().splitlines()]
assert {row[0] for row in rows} == names
for name, digest, size in rows:
    if name != record:
        content = wheel.read(name)
        assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode(), name
        assert int(size) == len(content), name
END
}

@test "pip installs a wheel into an environment, where it records, reports, and goes away again" {
    need_simulated
    python3 -m venv environment
    environment/bin/pip install -q --no-index "$wheel" 2>pip || { cat pip; return 1; }
    (cd environment && find . -type f | sort) >installed
    mkdir elsewhere && cd elsewhere
    PATH=$BATS_TEST_TMPDIR/environment/bin:$PATH
    [ "$(command -v gputrace)" = "$BATS_TEST_TMPDIR/environment/bin/gputrace" ]
    gputrace run -q -o trace.json --plugin leaks "$samples/vector_add" >statement
    "$check_trace" --strict --expect statement trace.json
    gputrace report trace.json >first
    python -m gputrace report trace.json >second
    diff first second
    man -M "$BATS_TEST_TMPDIR/environment/share/man" -w gputrace
    pip uninstall -q -y gputrace
    [ ! -e ../environment/bin/gputrace ] && [ ! -e ../environment/lib/gputrace/libgputrace.so.0 ]
}

@test "a bundle runs from where it is unpacked, through a link, too" {
    need_simulated
    mv "$unpacked" "moved here"
    ln -s "moved here/bin/gputrace" gputrace-link
    ./gputrace-link run -q -o trace.json "$samples/vector_add" >statement
    "$check_trace" --strict --expect statement trace.json
    ./gputrace-link report trace.json
    [ -e "moved here/share/man/man1/gputrace-run.1" ] && [ -e "moved here/samples/vector_add.cu" ]
    [ -e "moved here/share/bash-completion/completions/gputrace" ]
    mv "moved here" "$unpacked"
}

@test "a source archive says its version without git" {
    (cd "$BATS_TEST_DIRNAME/../.." && env -u MAKEFLAGS -u MAKELEVEL make dist) >made
    mkdir source
    tar -C source --strip-components=1 -xzf "$(sed "s|^|$BATS_TEST_DIRNAME/../../|" made)"
    [ "gputrace-$(cat source/.version).tar.gz" = "$(basename "$(cat made)")" ]
    run env GIT_DIR=/nowhere make -C source -n dist
    assert_output --partial "gputrace-$(cat source/.version)"
}

@test "without optional libraries the tool is built, says what is off, and records" {
    need_simulated
    printf '#!/bin/sh\ncase " $* " in *" -E -x c - "*) exit 1 ;; esac\nexec gcc "$@"\n' >compiler
    chmod +x compiler
    env -u MAKEFLAGS -u MAKELEVEL make -s -j2 -C "$root" B="$PWD/own" CC="$PWD/compiler" "$PWD/own/gputrace" >made 2>&1
    printf 'built without %s\n' 'lz4: no packed spools' 'sqlite3: no databases' 'iberty: no readable names of C++' |
        diff - made
    cp -P "$build"/libgputrace*.so* own/
    own/gputrace run -q -o trace.json "$samples/vector_add" >statement
    jq -e '[.traceEvents[] | select(.cat == "kernel").name] | length > 0 and all(startswith("_Z"))' trace.json
    run own/gputrace convert trace.json trace.sqlite
    assert_failure
    assert_output --partial 'this gputrace was built without SQLite'
}

# There is no conda and no Spack in Debian: the recipes are read as these do, and what they call is asked of make.
@test "the recipe of conda is rendered and parsed, and make knows what it calls" {
    /usr/bin/python3 -c 'import jinja2, yaml' || skip "needs python3-jinja2 and python3-yaml"
    cd "$root"
    /usr/bin/python3 - <<'END' >"$BATS_TEST_TMPDIR/script"
import os, jinja2, yaml
text = open("src/packaging/conda/meta.yaml").read()
recipe = yaml.safe_load(jinja2.Template(text).render(compiler=lambda language: language + "-compiler"))
assert recipe["package"]["name"] == "gputrace"
assert os.path.exists(os.path.join("src/packaging/conda", recipe["source"]["path"], "Makefile"))
assert "c-compiler" in recipe["requirements"]["build"] and "cuda-cupti" in recipe["requirements"]["run"]
print(recipe["build"]["script"].replace("make ", "make -n ", 1))
END
    mkdir -p "$BATS_TEST_TMPDIR/prefix/targets"
    ln -s "${CUDA_HOME:-/usr/local/cuda}" "$BATS_TEST_TMPDIR/prefix/targets/$(uname -m | sed 's/aarch64/sbsa/')-linux"
    env -u MAKEFLAGS -u MAKELEVEL PREFIX="$BATS_TEST_TMPDIR/prefix" sh -e "$BATS_TEST_TMPDIR/script" >"$BATS_TEST_TMPDIR/called"
    grep -q "$BATS_TEST_TMPDIR/prefix/bin" "$BATS_TEST_TMPDIR/called"
}

@test "the package file of Spack is executed, and make knows what it calls" {
    cd "$root"
    env -u MAKEFLAGS -u MAKELEVEL python3 - "$BATS_TEST_TMPDIR/prefix" <<'END'
import os, subprocess, sys, types
calls, wanted = [], []
package = types.ModuleType("spack.package")
package.MakefilePackage = object
package.version = lambda number: None
package.depends_on = lambda what, **how: wanted.append(what)
package.make = lambda *words: calls.append(words)
sys.modules["spack"], sys.modules["spack.package"] = types.ModuleType("spack"), package
scope = {"__file__": os.path.abspath("src/packaging/spack/package.py")}
exec(compile(open("src/packaging/spack/package.py").read(), "package.py", "exec"), scope)
built = scope["Gputrace"]()
built.prefix = sys.argv[1]
built.spec = {"cuda": types.SimpleNamespace(prefix=os.environ.get("CUDA_HOME", "/usr/local/cuda"))}
built.build(built.spec, built.prefix)
built.install(built.spec, built.prefix)
assert [call[0] for call in calls] == ["all", "install"] and "cuda@12:" in wanted
for call in calls:
    subprocess.run(["make", "-n", *call], check=True, stdout=subprocess.DEVNULL)
END
}
