#include "tests/tools/job/job.h"

#include <stdlib.h>

#include "common/log.h"

const struct job_operation_names job_operation_names[] = {
    [JOB_ALL_REDUCE] = {"allreduce", "ncclAllReduce",
                        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"},
    [JOB_ALL_GATHER] = {"allgather", "ncclAllGather",
                        "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"},
    [JOB_REDUCE_SCATTER] = {"reduce_scatter", "ncclReduceScatter",
                            "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"},
    [JOB_SEND] = {"send", "ncclSend", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"},
    [JOB_RECEIVE] = {"recv", "ncclRecv", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"},
};
const char *const job_group_names[] = {"data", "tensor", "pipeline"};

enum {
    LAYERS = 8, /* of the model */
    FORWARD_KERNELS = 6,
    BACKWARD_KERNELS = 12,
    OPTIMIZER_KERNELS = 10,
    LAYERS_OF_BUCKET = 2, /* whose gradients are reduced at once */
};
#define BUCKET_BYTES (UINT64_C(24) << 20)
#define TENSOR_BYTES (UINT64_C(4) << 20)
#define PIPELINE_BYTES (UINT64_C(8) << 20)

/* --- groups --- */

struct job_group_of job_group_of(const struct job *job, enum job_group group, uint32_t rank)
{
    uint32_t tensor = rank % job->tensor, data = rank / job->tensor % job->data;
    uint32_t stage = job_stage_of(job, rank), of_stage = job->tensor * job->data;
    switch (group) {
    case JOB_TENSOR: return (struct job_group_of){rank / job->tensor, job->tensor, tensor, rank - tensor, 1};
    case JOB_DATA:
        return (struct job_group_of){stage * job->tensor + tensor, job->data, data, rank - data * job->tensor,
                                     job->tensor};
    default: return (struct job_group_of){rank % of_stage, job->pipeline, stage, rank % of_stage, of_stage};
    }
}

/* --- the program --- */

static struct job_op *add(struct job_stage *stage, int kind)
{
    struct job_op *op = array_push(&stage->ops);
    if (!op) {
        error_no_memory("the program");
        exit(1);
    }
    op->kind = kind;
    return op;
}

static void push(struct job_stage *stage, const char *name)
{
    add(stage, JOB_OP_PUSH)->name = name;
    stage->events++;
}

static void kernels(struct job_stage *stage, uint32_t count)
{
    add(stage, JOB_OP_KERNELS)->count = count;
    stage->events += 2 * count;
}

static void communicate(struct job_stage *stage, enum job_group group, enum job_operation operation, uint64_t bytes,
                        bool overlapped, int peer)
{
    struct job_op *op = add(stage, JOB_OP_COMMUNICATE);
    op->group = group;
    op->operation = operation;
    op->bytes = bytes;
    op->overlapped = overlapped;
    op->peer = peer;
    stage->events += 3;
    stage->communications++;
}

static void forward(const struct job *job, struct job_stage *stage, uint32_t number, uint32_t layers)
{
    push(stage, "forward");
    if (number > 0)
        communicate(stage, JOB_PIPELINE, JOB_RECEIVE, PIPELINE_BYTES, false, -1);
    for (uint32_t layer = 0; layer < layers; layer++) {
        kernels(stage, FORWARD_KERNELS);
        if (job->tensor > 1)
            communicate(stage, JOB_TENSOR, JOB_ALL_REDUCE, TENSOR_BYTES, false, 0);
    }
    if (number + 1 < job->pipeline)
        communicate(stage, JOB_PIPELINE, JOB_SEND, PIPELINE_BYTES, false, 1);
    add(stage, JOB_OP_POP);
}

/* LAST: gradients are whole after it. */
static void backward(const struct job *job, struct job_stage *stage, uint32_t number, uint32_t layers, bool last)
{
    push(stage, "backward");
    if (number + 1 < job->pipeline)
        communicate(stage, JOB_PIPELINE, JOB_RECEIVE, PIPELINE_BYTES, false, 1);
    for (uint32_t layer = layers; layer-- > 0;) {
        kernels(stage, BACKWARD_KERNELS);
        if (job->tensor > 1)
            communicate(stage, JOB_TENSOR, JOB_ALL_REDUCE, TENSOR_BYTES, false, 0);
        if (last && job->data > 1 && layer % LAYERS_OF_BUCKET == 0)
            communicate(stage, JOB_DATA, JOB_REDUCE_SCATTER, BUCKET_BYTES, true, 0);
    }
    if (number > 0)
        communicate(stage, JOB_PIPELINE, JOB_SEND, PIPELINE_BYTES, false, -1);
    add(stage, JOB_OP_POP);
}

static void make_stage(const struct job *job, struct job_stage *stage, uint32_t number)
{
    uint32_t layers = LAYERS / job->pipeline > 0 ? LAYERS / job->pipeline : 1;
    push(stage, "step");
    add(stage, JOB_OP_LOAD);
    stage->events += 3;
    add(stage, JOB_OP_LATE);
    for (uint32_t i = 0; i < job->microbatches; i++)
        forward(job, stage, number, layers);
    for (uint32_t i = job->microbatches; i-- > 0;)
        backward(job, stage, number, layers, i == 0);
    push(stage, "optimizer");
    add(stage, JOB_OP_WAIT);
    kernels(stage, OPTIMIZER_KERNELS);
    if (job->data > 1)
        communicate(stage, JOB_DATA, JOB_ALL_GATHER, BUCKET_BYTES, false, 0);
    if (job->data > 1) /* whether a gradient was infinite */
        communicate(stage, JOB_DATA, JOB_ALL_REDUCE, 8, false, 0);
    add(stage, JOB_OP_POP);
    add(stage, JOB_OP_SYNCHRONISE);
    stage->events++;
    add(stage, JOB_OP_POP);
}

void job_program(struct job *job)
{
    job->stages = calloc(job->pipeline, sizeof(*job->stages));
    if (!job->stages) {
        error_no_memory("the program");
        exit(1);
    }
    for (uint32_t stage = 0; stage < job->pipeline; stage++) {
        make_stage(job, &job->stages[stage], stage);
        if (job->stages[stage].communications > job->communications)
            job->communications = job->stages[stage].communications;
    }
}

/* --- times --- */

/* By splitmix64. */
double job_uniform(const struct job *job, uint32_t rank, uint32_t step, uint32_t what, uint32_t index)
{
    uint64_t mixed = job->seed * UINT64_C(0x9e3779b97f4a7c15) + ((uint64_t)rank << 40) + ((uint64_t)step << 16) +
                     ((uint64_t)what << 8) + index;
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((mixed ^ mixed >> 31) >> 11) / 9007199254740992.0;
}

int64_t job_kernel_time(const struct job *job, uint32_t rank, uint32_t step, uint32_t op, uint32_t index)
{
    double usual = 20e3 + 1e3 * (double)((op * 37 + index * 53) % 160);
    double noise = 1 + 0.03 * job_uniform(job, rank, step, op, index);
    return (int64_t)(usual * noise * (1 + job->of_rank[rank].slower));
}

/* A ring over as many bytes as nccl-tests says: 50 GB/s between hosts, 300 within one. */
int64_t job_transfer_time(const struct job *job, const struct job_op *op, uint32_t rank, uint32_t step, uint32_t number)
{
    struct job_group_of group = job_group_of(job, op->group, rank);
    bool pair = op->group == JOB_PIPELINE;
    uint32_t first = pair ? rank : group.first;
    uint32_t last = pair ? rank + (uint32_t)op->peer * group.stride : group.first + (group.size - 1) * group.stride;
    bool between = job_host_of(job, first) != job_host_of(job, last);
    double factor = op->operation == JOB_ALL_REDUCE ? 2 : 1, link = 1;
    for (uint32_t i = 0; between && i < group.size; i++) {
        uint32_t member = pair ? (i % 2 ? first : last) : group.first + i * group.stride;
        double slow = job->of_host[job_host_of(job, member)].link;
        link = slow > link ? slow : link;
    }
    double ns = (between ? 12e3 : 8e3) + (double)op->bytes * factor / (between ? 50 : 300);
    return (int64_t)(ns * link * (1 + 0.1 * job_uniform(job, group.first, step, 200 + op->group, number)));
}
