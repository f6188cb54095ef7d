#!/usr/bin/env bats
# Which ranks communicate: Kineto's arguments of process groups, and distributedInfo.

load ../cli/common

fake=$build/tests/nccl/fake_nccl

before_each() { need_simulated; }

# [group size, ranks of the group] of each group that kernels name.
groups() { # TRACE
    jq -c '[.traceEvents[] | select(.cat == "kernel" and .args.communicator != null) | .args
        | select(.["Process Group Name"] == .communicator) | [.["Group size"], .["Process Group Ranks"]]] | unique' "$1"
}

@test "a trace of all ranks says which ranks a communicator has" {
    run -0 "$gputrace" run -o job.json "$fake" -n 4 -s 1 -o allreduce,halves
    "$check_trace" --quiet job.json
    assert_equal "$(groups job.json)" '[[2,"[0, 2]"],[2,"[1, 3]"],[4,"[0, 1, 2, 3]"]]'
    # calls have the same ranks; the name is for readers of kernels
    assert_equal "$(jq -c '[.traceEvents[] | select(.cat == "user_annotation" and .args.communicator != null) | .args
        | [has("Process Group Name"), .["Process Group Ranks"]]] | unique' job.json)" \
        '[[false,"[0, 1, 2, 3]"],[false,"[0, 2]"],[false,"[1, 3]"]]'
    # several ranks: distributedInfo is that of each process, and of a part with one of them
    jq -e 'has("distributedInfo") == false' job.json
    local of_process='[.rank, .world_size, .backend, .pg_count, (.pg_config | map([.pg_size, .ranks, .backend_config]))]'
    assert_equal "$(jq -c ".gputrace.processes[] | select(.rank == 3) | .distributedInfo | $of_process" job.json)" \
        '[3,4,"nccl",2,[[4,[0,1,2,3],"cuda:nccl"],[2,[1,3],"cuda:nccl"]]]'
    "$gputrace" cut -q --rank=3 -o rank3.json job.json
    assert_equal "$(jq -c ".distributedInfo | $of_process" rank3.json)" \
        '[3,4,"nccl",2,[[4,[0,1,2,3],"cuda:nccl"],[2,[1,3],"cuda:nccl"]]]'
    # the names are those of the kernels
    assert_equal "$(jq -c '[.distributedInfo.pg_config[].pg_name] | sort' rank3.json)" \
        "$(jq -c '[.traceEvents[] | select(.cat == "kernel") | .args["Process Group Name"] // empty] | unique' rank3.json)"
}

@test "a trace of one rank knows the ranks of the communicator that has them all, and of no other" {
    local rank
    for rank in 0 1 2 3; do
        RANK=$rank WORLD_SIZE=4 "$gputrace" run -q -o "rank.%r.json" "$fake" -j "groups.$$" -s 1 -o allreduce,halves 3>&- &
    done
    wait
    assert_equal "$(groups rank.1.json)" '[[2,null],[4,"[0, 1, 2, 3]"]]'
    assert_equal "$(jq -c '.distributedInfo | [.rank, .world_size, (.pg_config | map([.pg_size, .ranks]))]' rank.1.json)" \
        '[1,4,[[4,[0,1,2,3]],[2,null]]]'
    # operations of the ranks are matched all the same, and a merged trace gives the parts back
    "$gputrace" report -r comm --format=json rank.?.json >comm.json
    assert_equal "$(jq -c '[.comm[] | [.ranks, .count]] | sort' comm.json)" '[[2,1],[2,1],[4,1]]'
    "$gputrace" merge -q -o job.json rank.?.json
    "$gputrace" cut -q --rank=1 -o again.json job.json
    assert_equal "$(jq -cS .distributedInfo again.json)" "$(jq -cS .distributedInfo rank.1.json)"
}

@test "without the number of ranks of the job nothing is said of ranks" {
    run -0 env -u RANK -u WORLD_SIZE "$gputrace" run -o alone.json "$fake" -j "groups.$$" -s 1
    assert_equal "$(groups alone.json)" '[[1,null]]'
    jq -e 'has("distributedInfo") == false and (.gputrace.processes | all(has("distributedInfo") | not))' alone.json
}
