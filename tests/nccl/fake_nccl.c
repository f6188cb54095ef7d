/*
 * fake_nccl: a job of several ranks on the simulated GPU, as data-parallel training is. Each step computes for a while
 * and then does collective operations, which wait for all ranks.
 *
 *   fake_nccl -n RANKS [OPTION…]   starts so many ranks, each a process with RANK, LOCAL_RANK, WORLD_SIZE, and waits
 *   fake_nccl -j JOB [OPTION…]     is one rank: of the number that RANK and WORLD_SIZE say, or mpirun's or Slurm's
 *                                  variables. Ranks with the same JOB are one job.
 *
 *   -s STEPS           default 4
 *   -o OPERATION,…     of each step, default allreduce: allreduce allgather reducescatter broadcast reduce alltoall
 *                      gather scatter ring (send and receive in a group) group (three calls) halves (an all-reduce
 *                      in a communicator of every second rank) graph (an all-reduce that was captured) integers (an
 *                      all-reduce) both (an all-reduce in each communicator, without a wait between them)
 *   -b BYTES           of each operation, default 4 MiB
 *   -c NS              of each step's computation, default 200000
 *   -d RANK:MS         this rank sleeps so long in each step
 *   -k RANK:FACTOR     its kernels that compute take so many times as long
 *   -H RANK:MS         this rank begins so much later
 *   -B                 communicators do not block: threads of their own launch the kernels
 *   -t SECONDS         of -n: kills the ranks with SIGKILL after so long, and exits with 3
 *
 * Deadlocks, at the start of the last step:
 *   -D mismatch:RANK   the rank calls ncclBroadcast where the others call the first operation
 *   -D absent:RANK     the rank never calls it; it sleeps in the NVTX range "load data"
 *   -D endless:RANK    a kernel of the rank never ends, in the stream before it
 *   -D dead:RANK       the rank is killed by SIGKILL
 */
#include <errno.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/nccl/nccl.h"

enum { MAX_OPERATIONS = 16 };

static struct {
    int ranks, steps, rank, local_rank;
    const char *job, *deadlock;
    char operations[256];
    size_t bytes;
    uint64_t compute_ns;
    int delayed, delay_ms, slow, factor, late, late_ms, seconds;
    int stuck; /* rank of the deadlock */
} job = {.steps = 4,
         .operations = "allreduce",
         .bytes = 4 << 20,
         .compute_ns = 200000,
         .delayed = -1,
         .slow = -1,
         .late = -1};

struct rank {
    ncclComm_t world, half;
    CUstream compute, communicate;
    CUevent computed, communicated;
    CUgraphExec graph;
};

static int usage(void)
{
    fputs("usage: fake_nccl -n RANKS | -j JOB [-s STEPS] [-o OPERATION,...] [-b BYTES] [-c NS] [-d RANK:MS]\n"
          "                 [-k RANK:FACTOR] [-H RANK:MS] [-B] [-t SECONDS] [-D DEADLOCK:RANK]\n",
          stderr);
    return 2;
}

/* --- memory that all ranks share --- */

static void shared_path(char path[256])
{
    snprintf(path, 256, "/fake_nccl.%s", job.job);
}

static void remove_shared(void)
{
    char path[256];
    shared_path(path);
    shm_unlink(path);
}

/* --- operations --- */

static void all_reduce(struct rank *rank)
{
    ncclAllReduce(job.bytes / 4, ncclFloat32, ncclSum, rank->world, rank->communicate);
}

static void all_gather(struct rank *rank)
{
    ncclAllGather(job.bytes / 4, ncclFloat32, rank->world, rank->communicate);
}

static void reduce_scatter(struct rank *rank)
{
    ncclReduceScatter(job.bytes / 4, ncclFloat32, ncclSum, rank->world, rank->communicate);
}

static void broadcast(struct rank *rank)
{
    ncclBroadcast(job.bytes / 4, ncclFloat32, 0, rank->world, rank->communicate);
}

static void reduce(struct rank *rank)
{
    ncclReduce(job.bytes / 4, ncclFloat32, ncclMax, 1, rank->world, rank->communicate);
}

static void all_to_all(struct rank *rank)
{
    ncclAlltoAll(job.bytes / 4, ncclFloat32, rank->world, rank->communicate);
}

static void gather(struct rank *rank)
{
    ncclGather(job.bytes / 4, ncclFloat32, 0, rank->world, rank->communicate);
}

static void scatter(struct rank *rank)
{
    ncclScatter(job.bytes / 4, ncclFloat32, 0, rank->world, rank->communicate);
}

static void ring(struct rank *rank)
{
    int ranks = rank->world->ranks, self = rank->world->rank;
    ncclGroupStart();
    ncclSend(job.bytes / 4, ncclFloat32, (self + 1) % ranks, rank->world, rank->communicate);
    ncclRecv(job.bytes / 4, ncclFloat32, (self + ranks - 1) % ranks, rank->world, rank->communicate);
    ncclGroupEnd();
}

static void group(struct rank *rank)
{
    ncclGroupStart();
    all_reduce(rank);
    ncclAllReduce(job.bytes / 8, ncclFloat16, ncclSum, rank->world, rank->communicate);
    all_gather(rank);
    ncclGroupEnd();
}

static void halves(struct rank *rank)
{
    if (!rank->half)
        rank->half = ncclCommSplit_(rank->world);
    ncclAllReduce(job.bytes / 4, ncclFloat32, ncclSum, rank->half, rank->communicate);
}

static void integers(struct rank *rank)
{
    ncclAllReduce(job.bytes / 4, ncclInt32, ncclSum, rank->world, rank->communicate);
}

static void both(struct rank *rank)
{
    if (!rank->half)
        rank->half = ncclCommSplit_(rank->world);
    all_reduce(rank);
    ncclAllReduce(job.bytes / 4, ncclFloat32, ncclSum, rank->half, rank->communicate);
}

static void graph(struct rank *rank)
{
    if (!rank->graph) {
        CUgraph captured;
        nvtxRangePushA("capture");
        MUST(cuStreamBeginCapture(rank->communicate, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        all_reduce(rank);
        ncclWaitReady_();
        MUST(cuStreamEndCapture(rank->communicate, &captured));
        MUST(cuGraphInstantiate(&rank->graph, captured, 0));
        nvtxRangePop();
    }
    MUST(cuGraphLaunch(rank->graph, rank->communicate));
}

static const struct operation {
    const char *name;
    void (*run)(struct rank *rank);
} operations[] = {
    {"allreduce", all_reduce},
    {"allgather", all_gather},
    {"reducescatter", reduce_scatter},
    {"broadcast", broadcast},
    {"reduce", reduce},
    {"alltoall", all_to_all},
    {"gather", gather},
    {"scatter", scatter},
    {"ring", ring},
    {"group", group},
    {"halves", halves},
    {"graph", graph},
    {"integers", integers},
    {"both", both},
};

static const struct operation *operation_named(const char *name)
{
    for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
    return NULL;
}

static size_t read_operations(const struct operation *chosen[MAX_OPERATIONS])
{
    char text[sizeof(job.operations)], *next = NULL;
    size_t count = 0;
    snprintf(text, sizeof(text), "%s", job.operations);
    for (char *name = strtok_r(text, ",", &next); name; name = strtok_r(NULL, ",", &next)) {
        if (count == MAX_OPERATIONS || !(chosen[count++] = operation_named(name)))
            exit(usage());
    }
    return count;
}

/* --- a rank --- */

static bool deadlocks(const char *how)
{
    return job.deadlock && job.rank == job.stuck && strncmp(job.deadlock, how, strlen(how)) == 0;
}

static void get_stuck(struct rank *rank)
{
    if (deadlocks("dead"))
        raise(SIGKILL);
    if (deadlocks("endless"))
        kernel_compute("endless_kernel", MEETING_ENDLESS, rank->communicate);
    if (deadlocks("mismatch"))
        broadcast(rank);
    if (deadlocks("absent")) {
        nvtxRangePushA("load data");
        for (;;)
            pause();
    }
}

static void step(struct rank *rank, int number, const struct operation *const *chosen, size_t count)
{
    char name[32];
    snprintf(name, sizeof(name), "ProfilerStep#%d", number);
    nvtxRangePushA(name);
    if (job.rank == job.delayed) {
        nvtxRangePushA("load data");
        usleep((unsigned)job.delay_ms * 1000);
        nvtxRangePop();
    }
    kernel_compute("gemm_kernel", job.compute_ns * (uint64_t)(job.rank == job.slow ? job.factor : 1), rank->compute);
    MUST(cuEventRecord(rank->computed, rank->compute));
    MUST(cuStreamWaitEvent(rank->communicate, rank->computed, 0));
    if (number == job.steps - 1)
        get_stuck(rank);
    for (size_t i = 0; i < count; i++) {
        chosen[i]->run(rank);
        ncclWaitReady_();
    }
    MUST(cuEventRecord(rank->communicated, rank->communicate));
    MUST(cuStreamWaitEvent(rank->compute, rank->communicated, 0));
    kernel_compute("optimizer_kernel", job.compute_ns / 4, rank->compute);
    MUST(cuStreamSynchronize(rank->compute));
    nvtxRangePop();
}

static int run_rank(struct nccl_shared *shared)
{
    const struct operation *chosen[MAX_OPERATIONS];
    struct rank rank = {0};
    CUcontext context;
    CUdevice device;
    int devices;
    size_t count = read_operations(chosen);
    if (job.rank == job.late)
        usleep((unsigned)job.late_ms * 1000);
    MUST(cuInit(0));
    MUST(cuDeviceGetCount(&devices));
    MUST(cuDeviceGet(&device, job.local_rank % devices));
    MUST(cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuCtxSetCurrent(context));
    MUST(cuStreamCreate(&rank.compute, CU_STREAM_NON_BLOCKING));
    MUST(cuStreamCreate(&rank.communicate, CU_STREAM_NON_BLOCKING));
    MUST(cuEventCreate(&rank.computed, CU_EVENT_DISABLE_TIMING));
    MUST(cuEventCreate(&rank.communicated, CU_EVENT_DISABLE_TIMING));
    rank.world = ncclCommInitRank_(shared, job.job, job.ranks, job.rank, device);
    remove_shared(); /* all have mapped it */
    for (int i = 0; i < job.steps; i++)
        step(&rank, i, chosen, count);
    if (rank.half)
        ncclCommDestroy(rank.half);
    ncclCommDestroy(rank.world);
    return 0;
}

/* --- the job --- */

static struct nccl_shared *open_shared(void)
{
    char path[256];
    shared_path(path);
    int file = shm_open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof(struct nccl_shared)) != 0) {
        perror("fake_nccl: shared memory");
        exit(1);
    }
    void *memory = mmap(NULL, sizeof(struct nccl_shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}

static int number_of(const char *const *names, int otherwise)
{
    for (; *names; names++)
        if (getenv(*names))
            return atoi(getenv(*names));
    return otherwise;
}

static void read_rank(void)
{
    static const char *const ranks[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", NULL};
    static const char *const local[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID",
                                        NULL};
    static const char *const sizes[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", NULL};
    job.rank = number_of(ranks, 0);
    job.local_rank = number_of(local, job.rank);
    job.ranks = number_of(sizes, 1);
}

static void set_number(const char *name, int number)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", number);
    setenv(name, text, 1);
}

/* ARGUMENTS have space for two more. */
static pid_t start_rank(int rank, char **arguments)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    set_number("RANK", rank);
    set_number("LOCAL_RANK", rank);
    set_number("WORLD_SIZE", job.ranks);
    set_number("LOCAL_WORLD_SIZE", job.ranks);
    if (!getenv("SIMGPU_DEVICES"))
        set_number("SIMGPU_DEVICES", job.ranks < 8 ? job.ranks : 8);
    execv("/proc/self/exe", arguments);
    _exit(127);
}

static pid_t children[NCCL_RANKS];

static void kill_children(int signal)
{
    (void)signal;
    for (int i = 0; i < job.ranks; i++)
        if (children[i] > 0)
            kill(children[i], SIGKILL);
}

static int run_job(int argc, char **argv)
{
    char name[64], **arguments = calloc((size_t)argc + 3, sizeof(*arguments));
    int killed = 0, result = 0, status;
    if (!arguments)
        abort();
    snprintf(name, sizeof(name), "%s", job.job ? job.job : "");
    if (!job.job)
        snprintf(name, sizeof(name), "%d", (int)getpid());
    job.job = name;
    memcpy(arguments, argv, (size_t)argc * sizeof(*argv));
    arguments[argc] = (char[]){"-j"};
    arguments[argc + 1] = name;
    for (int i = 0; i < job.ranks; i++)
        children[i] = start_rank(i, arguments);
    signal(SIGALRM, kill_children);
    alarm((unsigned)job.seconds);
    for (int i = 0; i < job.ranks; i++) {
        while (waitpid(children[i], &status, 0) < 0 && errno == EINTR)
            ;
        killed += WIFSIGNALED(status);
        result = WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : result;
        children[i] = 0;
    }
    remove_shared(); /* ranks may have died before they met */
    free(arguments);
    return killed ? 3 : result;
}

static void two_numbers(const char *text, int *first, int *second)
{
    if (sscanf(text, "%d:%d", first, second) != 2)
        exit(usage());
}

static void read_deadlock(const char *text)
{
    const char *colon = strchr(text, ':');
    if (!colon)
        exit(usage());
    job.deadlock = text;
    job.stuck = atoi(colon + 1);
}

int main(int argc, char **argv)
{
    int starts = 0;
    for (int option; (option = getopt(argc, argv, "n:j:s:o:b:c:d:k:H:Bt:D:")) != -1;) {
        switch (option) {
        case 'n': starts = atoi(optarg); break;
        case 'j': job.job = optarg; break;
        case 's': job.steps = atoi(optarg); break;
        case 'o': snprintf(job.operations, sizeof(job.operations), "%s", optarg); break;
        case 'b': job.bytes = strtoull(optarg, NULL, 0); break;
        case 'c': job.compute_ns = strtoull(optarg, NULL, 0); break;
        case 'd': two_numbers(optarg, &job.delayed, &job.delay_ms); break;
        case 'k': two_numbers(optarg, &job.slow, &job.factor); break;
        case 'H': two_numbers(optarg, &job.late, &job.late_ms); break;
        case 'B': ncclSetNonblocking_(); break;
        case 't': job.seconds = atoi(optarg); break;
        case 'D': read_deadlock(optarg); break;
        default: return usage();
        }
    }
    const struct operation *chosen[MAX_OPERATIONS];
    read_operations(chosen);
    if (starts > 0 && !getenv("FAKE_NCCL_STARTED")) {
        job.ranks = starts;
        setenv("FAKE_NCCL_STARTED", "1", 1);
        return starts > NCCL_RANKS ? usage() : run_job(argc, argv);
    }
    if (!job.job)
        return usage();
    read_rank();
    return run_rank(open_shared());
}
