#include "launch/job.h"

#include <stddef.h>
#include <string.h>

#include "launch/program.h"

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

/* The script of a Python's ARGV, or the module after -m; NULL: there is none. */
static const char *python_program(char *const *argv, bool *is_module)
{
    *is_module = false;
    for (argv++; *argv && **argv == '-'; argv++) {
        *is_module = strcmp(*argv, "-m") == 0;
        if (*is_module)
            return argv[1];
        if (strcmp(*argv, "-X") == 0 || strcmp(*argv, "-W") == 0) /* a value follows */
            argv += argv[1] != NULL;
    }
    return *argv;
}

bool job_program_starts_ranks(char *const *argv)
{
    static const char *const names[] = {
        "torchrun",     "accelerate",    "deepspeed",       "mpirun",         "mpiexec",    "orterun",
        "prterun",      "mpirun_rsh",    "mpiexec.hydra",   "mpirun.openmpi", "srun",       "jsrun",
        "mpirun.mpich", "mpiexec.mpich", "mpiexec.openmpi", "flux",           "horovodrun", NULL};
    static const char *const modules[] = {"torch.distributed.run", "torch.distributed.launch",
                                          "accelerate.commands.launch", "deepspeed.launcher.runner", NULL};
    const char *name = program_name(argv[0]);
    bool is_module;
    if (strncmp(name, "python", 6) != 0)
        return is_one_of(name, names);
    const char *program = python_program(argv, &is_module);
    return program && (is_module ? is_one_of(program, modules) : is_one_of(program_name(program), names));
}
