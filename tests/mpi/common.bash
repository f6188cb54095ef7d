# What tests with an MPI of Debian's share: Open MPI and MPICH, either of which may be the machine's mpirun.
# shellcheck shell=bash

load ../cli/common

programs=$build/tests/robust/programs

before_each() {
    unset "${!OMPI_@}" "${!PMI_@}" "${!PMIX_@}" "${!SLURM_@}" LOCAL_RANK GROUP_RANK LD_PRELOAD
    # As root, in a container, with fewer processors than ranks.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe # of version 4, of 5
    export OMPI_MCA_btl_vader_single_copy_mechanism=none
    case $build in */build/*) skip "Open MPI and MPICH are not sanitized" ;; esac
    # Its sockets are in TMPDIR, and their names may not be long.
    short=$(mktemp -d /tmp/gputrace-mpi.XXXXXX)
    export TMPDIR=$short
}

teardown() {
    [ -z "${short-}" ] || rm -rf "$short"
}

# Puts what starts MPI's programs, and its compiler, in the way of this name.
use_mpi() { # openmpi|mpich
    command -v "mpirun.$1" >/dev/null || skip "needs $1"
    mkdir -p bin
    script bin/mpirun "exec mpirun.$1 \"\$@\""
    script bin/mpicc "exec mpicc.$1 \"\$@\""
    PATH=$PWD/bin:$PATH
}

compiled() { # NAME [OPTION...]
    mpicc -g -Wall -o "$1" "$BATS_TEST_DIRNAME/programs/${1%.so}.c" "${@:2}"
}

# Payloads of MPI's calls: {name, pid, payload}.
mpi_calls() { # TRACE
    jq '[.traceEvents[] | select(.args.domain == "MPI") | {name, pid, ts, payload: .args.payload}]' "$1"
}
