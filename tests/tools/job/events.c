#include "tests/tools/job/job.h"

/* Times of the host and of launches, ns. */
enum {
    START = 1000000, /* of the first step */
    CALL = 3500,     /* a launch takes so long at least ... */
    CALL_NOISE = 1500,
    BETWEEN_CALLS = 900,
    LAUNCH = 2200,      /* from the launch's begin to the kernel's, at least */
    AFTER_KERNEL = 800, /* from a kernel's end to the next one's begin */
    LOAD = 200000,
    LOAD_NOISE = 50000,
    COPY = 60000,
    RANGE = 700, /* from the begin of a range of NCCL to the launch in it, and from the launch's end to the range's */
};
#define LOAD_NAME "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
#define COPY_BYTES (UINT64_C(1) << 20)
enum { CBID_LAUNCH = 211, CBID_LAUNCH_EX = 430, CBID_COPY = 41, CBID_SYNCHRONISE = 165 };

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void job_run_begin(struct job_run *run, const struct job *job, uint32_t rank)
{
    *run = (struct job_run){.job = job, .rank = rank, .host = START, .compute = START, .communicate = START};
    run->correlation = job_correlation_offset(job, rank);
    run->host += (int64_t)(200e3 * job_uniform(job, rank, 0, 255, 0));
}

static double noise(const struct job_run *run, uint32_t index)
{
    return job_uniform(run->job, run->rank, run->step, 100 + run->op % 100, index);
}

/* A call that launches something, at the host's time. Returns when the GPU may begin. */
static int64_t launch(struct job_run *run, const char *name, uint32_t cbid, uint32_t index, struct job_writer *writer)
{
    int64_t start = run->host, end = start + CALL + (int64_t)(CALL_NOISE * noise(run, index));
    run->correlation++;
    if (writer)
        job_write_call(writer, name, cbid, run->correlation, start, end, !run->stuck);
    run->host = end + BETWEEN_CALLS;
    return start + LAUNCH;
}

static void load(struct job_run *run, struct job_writer *writer)
{
    int64_t start = run->host;
    run->host += LOAD + (int64_t)(LOAD_NOISE * noise(run, 0)) + run->job->of_rank[run->rank].data;
    if (writer)
        job_write_range(writer, LOAD_NAME, start, run->host);
    int64_t begins = later(launch(run, "cudaMemcpyAsync", CBID_COPY, 1, writer), run->compute + AFTER_KERNEL);
    run->compute = begins + COPY + run->job->of_rank[run->rank].copy;
    if (writer)
        job_write_copy(writer, COPY_BYTES, run->correlation, begins, run->compute);
}

static void compute(struct job_run *run, const struct job_op *op, struct job_writer *writer)
{
    for (uint32_t i = 0; i < op->count; i++) {
        int64_t launched = launch(run, "cudaLaunchKernel", CBID_LAUNCH, i, writer);
        int64_t start = later(launched, run->compute + AFTER_KERNEL);
        run->compute = start + job_kernel_time(run->job, run->rank, run->step, run->op, i);
        if (writer)
            job_write_kernel(writer, run->op * 7 + i, run->correlation, start, run->compute);
    }
}

static void enter(struct job_run *run, struct job_writer *writer)
{
    run->stuck = writer && *job_duration(run->job, run->rank, run->step, run->communication) == JOB_STUCK;
    run->called = run->host;
    run->host += RANGE;
    run->launched = launch(run, "cudaLaunchKernelExC", CBID_LAUNCH_EX, 0, writer);
    run->host += RANGE - BETWEEN_CALLS;
    run->returned = run->host;
    run->host += BETWEEN_CALLS;
    run->entered = later(later(run->launched, run->communicate + AFTER_KERNEL), run->compute + AFTER_KERNEL);
}

static void synchronise(struct job_run *run, struct job_writer *writer)
{
    int64_t start = run->host, end = later(start + CALL, later(run->compute, run->communicate) + LAUNCH);
    run->correlation++;
    if (writer)
        job_write_call(writer, "cudaDeviceSynchronize", CBID_SYNCHRONISE, run->correlation, start, end, false);
    run->host = end + BETWEEN_CALLS;
}

static void pop(struct job_run *run, struct job_writer *writer)
{
    int64_t start = run->pushed[--run->depth];
    if (writer)
        job_write_range(writer, run->pushed_names[run->depth], start, run->host);
    run->host += BETWEEN_CALLS;
}

static void do_op(struct job_run *run, const struct job_stage *stage, struct job_writer *writer)
{
    const struct job_op *op = &stage->ops.items[run->op];
    switch (op->kind) {
    case JOB_OP_PUSH:
        run->pushed_names[run->depth] = op->name;
        run->pushed[run->depth++] = run->host;
        run->host += BETWEEN_CALLS;
        return;
    case JOB_OP_POP: pop(run, writer); return;
    case JOB_OP_LOAD: load(run, writer); return;
    case JOB_OP_LATE: run->host += run->job->of_rank[run->rank].late; return;
    case JOB_OP_KERNELS: compute(run, op, writer); return;
    case JOB_OP_WAIT: run->compute = later(run->compute, run->communicate); return;
    case JOB_OP_SYNCHRONISE: synchronise(run, writer); return;
    case JOB_OP_COMMUNICATE: enter(run, writer); return;
    }
}

const struct job_op *job_run_next(struct job_run *run, struct job_writer *writer)
{
    const struct job_stage *stage = &run->job->stages[job_stage_of(run->job, run->rank)];
    while (run->step < run->job->steps) {
        if (run->op == stage->ops.count) {
            run->step++;
            run->op = run->communication = 0;
            if (writer)
                job_write_step(writer);
            continue;
        }
        const struct job_op *op = &stage->ops.items[run->op];
        if (op->kind == JOB_OP_LATE && run->step == run->job->of_rank[run->rank].dies) {
            if (writer)
                job_write_open_ranges(writer, run, run->host);
            return NULL;
        }
        do_op(run, stage, writer);
        if (op->kind == JOB_OP_COMMUNICATE)
            return op;
        run->op++;
    }
    return NULL;
}

void job_run_leave(struct job_run *run, const struct job_op *op, int64_t left, struct job_writer *writer)
{
    uint64_t *next = &run->sequences[op->group];
    if (op->group == JOB_PIPELINE) /* sends and receives are counted for each peer */
        next = &run->pair_sequences[2 * (op->peer > 0) + (op->operation == JOB_SEND)];
    uint64_t sequence = (*next)++;
    if (writer && left >= 0)
        job_write_communication(writer, run, op, sequence, left);
    else if (writer)
        job_write_stuck(writer, run, op, sequence);
    run->communicate = left;
    if (!op->overlapped)
        run->compute = later(run->compute, left);
    run->communication++;
    run->op++;
}
