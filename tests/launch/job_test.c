#include "tests/unit.h"

#include "launch/program.h"

#define STARTS_RANKS(...) job_program_starts_ranks((char *const[]){__VA_ARGS__, NULL})

UNIT_TEST(what_starts_ranks_is_known_by_its_name)
{
    assert_true(STARTS_RANKS("torchrun", "--nproc-per-node", "2", "train.py"));
    assert_true(STARTS_RANKS("/usr/bin/mpirun", "-n", "2", "./app"));
    assert_true(STARTS_RANKS("srun", "./app"));
    assert_true(STARTS_RANKS("python3", "-m", "torch.distributed.run", "train.py"));
    assert_true(STARTS_RANKS("python", "-u", "-X", "dev", "-m", "torch.distributed.launch", "train.py"));
    assert_true(STARTS_RANKS("/opt/bin/python3.12", "/opt/bin/torchrun", "train.py"));
}

UNIT_TEST(other_programs_do_not_start_ranks)
{
    assert_false(STARTS_RANKS("./app"));
    assert_false(STARTS_RANKS("./app", "mpirun"));
    assert_false(STARTS_RANKS("python"));
    assert_false(STARTS_RANKS("python", "-m"));
    assert_false(STARTS_RANKS("python", "train.py", "-m", "torch.distributed.run"));
    assert_false(STARTS_RANKS("python", "-m", "train", "torchrun"));
    assert_false(STARTS_RANKS("torchrun.py"));
}

UNIT_MAIN(NULL, NULL)
