# gputrace report on traces of several ranks: communication and ranks, against figures worked out by hand.

load common

made() { # [OPTION=VALUE...] FILE
    "$root/tests/cli/ranks_trace" "$@"
}

section() { # SECTION TRACE: its rows as JSON
    "$gputrace" report -r "$1" --format=json "$2" | jq --arg section "$1" '.[$section]'
}

@test "comm: rank 1 begins a millisecond later, so three ranks wait for it ten times" {
    made noise=0 slow=1:1000000 job.json
    section comm job.json >rows
    jq -e 'length == 1 and .[0].operation == "allreduce" and .[0].communicator == "0xc0ffee" and .[0].type == "Float"' rows
    jq -e '.[0].size_bytes == 1048576 and .[0].ranks == 4 and .[0].count == 10' rows
    # Kernels take 1.1 ms on three ranks and 0.1 ms on one; a kernel of 25 us runs beside each.
    jq -e '.[0].total_ns == 34000000 and .[0].wait_ns == 30000000 and .[0].transfer_ns == 4000000' rows
    jq -e '.[0].exposed_ns == 33000000 and (.[0].overlapped_percent * 340 | round) == 1000' rows
    # 1 MiB in 0.1 ms, and 2 (n - 1) / n of that.
    jq -e '(.[0].algorithm_gb_s * 100000 | round) == 1048576 and (.[0].bus_gb_s * 100000 | round) == 1572864' rows
}

@test "comm: of one rank nobody knows what it waited for" {
    made noise=0 slow=1:1000000 format=torch sequence=0 rank%r.json
    section comm rank0.json | jq -e '.[0].wait_ns == null and .[0].transfer_ns == null and .[0].total_ns == 11000000'
    section comm rank1.json | jq -e '.[0].total_ns == 1000000 and (.[0].bus_gb_s * 100000 | round) == 1572864'
    section comm "$root/tests/data/report/small.json" | jq -e 'length == 0'
}
