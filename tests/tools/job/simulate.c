/*
 * Ranks run until they come to a communication. The last that comes to one decides when all leave it, and all go on.
 */
#include "tests/tools/job/job.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"

/* Those who are at one operation of a group. */
struct meeting {
    uint32_t arrived;
    int64_t last;
};

struct simulation {
    struct job *job;
    struct job_run *runs;     /* of each rank */
    const struct job_op **at; /* where each is */
    uint32_t *ready;          /* ranks that can go on */
    uint32_t ready_count;
    struct meeting *meetings[JOB_GROUP_COUNT]; /* of each group; of pipelines of each rank that sends, and direction */
};

#define KILLED_AFTER INT64_C(5000000000) /* ns from the last event of a job that hangs to its end */
#define LEAVING_NOISE 2000               /* ns by which ranks leave apart at most */

static struct job_truth *truth_of(struct job *job, const struct job_op *op, uint32_t ranks)
{
    for (size_t i = 0; i < job->truths.count; i++) {
        struct job_truth *truth = &job->truths.items[i];
        if (truth->group == op->group && truth->bytes == op->bytes && truth->ranks == ranks &&
            (truth->operation == op->operation || op->group == JOB_PIPELINE))
            return truth;
    }
    struct job_truth *truth = array_push(&job->truths);
    if (!truth)
        abort();
    *truth = (struct job_truth){
        .group = (uint8_t)op->group, .operation = (uint8_t)op->operation, .bytes = op->bytes, .ranks = ranks};
    return truth;
}

static void leave(struct simulation *simulation, uint32_t rank, int64_t last, int64_t transfer, struct job_truth *truth)
{
    struct job *job = simulation->job;
    struct job_run *run = &simulation->runs[rank];
    const struct job_op *op = simulation->at[rank];
    double noise = LEAVING_NOISE * job_uniform(job, rank, run->step, 220, run->communication);
    int64_t left = last + transfer + (int64_t)noise;
    truth->wait += last - run->entered;
    truth->time += left - run->entered;
    job->waits[rank] += last - run->entered;
    job->end = left > job->end ? left : job->end;
    *job_duration(job, rank, run->step, run->communication) = (uint32_t)(left - run->entered);
    job_run_leave(run, op, left, NULL);
    simulation->ready[simulation->ready_count++] = rank;
}

/* A send meets its receive: the rank of the earlier stage and the direction name them. */
static void meet_peer(struct simulation *simulation, uint32_t rank, const struct job_op *op)
{
    struct job *job = simulation->job;
    uint32_t stride = job->tensor * job->data, peer = rank + (uint32_t)op->peer * stride;
    uint32_t sender = op->operation == JOB_SEND ? rank : peer, receiver = op->operation == JOB_SEND ? peer : rank;
    struct meeting *meeting = &simulation->meetings[JOB_PIPELINE][2 * sender + (receiver > sender)];
    int64_t entered = simulation->runs[rank].entered;
    meeting->last = meeting->arrived == 0 || entered > meeting->last ? entered : meeting->last;
    if (++meeting->arrived < 2)
        return;
    meeting->arrived = 0;
    struct job_truth *truth = truth_of(job, op, 2);
    const struct job_run *run = &simulation->runs[sender];
    int64_t transfer = job_transfer_time(job, simulation->at[sender], sender, run->step, run->communication);
    truth->count++;
    truth->transfer += transfer;
    leave(simulation, sender, meeting->last, transfer, truth);
    leave(simulation, receiver, meeting->last, transfer, truth);
}

static void meet_group(struct simulation *simulation, uint32_t rank, const struct job_op *op)
{
    struct job *job = simulation->job;
    struct job_group_of group = job_group_of(job, op->group, rank);
    struct meeting *meeting = &simulation->meetings[op->group][group.number];
    int64_t entered = simulation->runs[rank].entered;
    meeting->last = meeting->arrived == 0 || entered > meeting->last ? entered : meeting->last;
    if (++meeting->arrived < group.size)
        return;
    meeting->arrived = 0;
    struct job_truth *truth = truth_of(job, op, group.size);
    const struct job_run *run = &simulation->runs[rank];
    int64_t transfer = job_transfer_time(job, op, rank, run->step, run->communication);
    truth->count++;
    truth->transfer += transfer;
    for (uint32_t i = 0; i < group.size; i++)
        leave(simulation, group.first + i * group.stride, meeting->last, transfer, truth);
}

static void run_all(struct simulation *simulation)
{
    struct job *job = simulation->job;
    for (uint32_t rank = 0; rank < job->ranks; rank++) {
        job_run_begin(&simulation->runs[rank], job, rank);
        simulation->ready[simulation->ready_count++] = rank;
    }
    while (simulation->ready_count > 0) {
        uint32_t rank = simulation->ready[--simulation->ready_count];
        const struct job_op *op = job_run_next(&simulation->runs[rank], NULL);
        simulation->at[rank] = op;
        if (op && op->group == JOB_PIPELINE)
            meet_peer(simulation, rank, op);
        else if (op)
            meet_group(simulation, rank, op);
        else if (simulation->runs[rank].step < job->steps)
            job->died = simulation->runs[rank].host;
        else if (simulation->runs[rank].host > job->end)
            job->end = simulation->runs[rank].host;
    }
    job->end += job->died ? KILLED_AFTER : 0;
}

int job_simulate(struct job *job)
{
    struct simulation simulation = {.job = job};
    size_t ranks = job->ranks;
    job->durations = calloc(ranks * job->steps * job->communications + 1, sizeof(*job->durations));
    job->waits = calloc(ranks, sizeof(*job->waits));
    simulation.runs = calloc(ranks, sizeof(*simulation.runs));
    simulation.at = calloc(ranks, sizeof(*simulation.at));
    simulation.ready = calloc(ranks, sizeof(*simulation.ready));
    bool memory = job->durations && job->waits && simulation.runs && simulation.at && simulation.ready;
    for (int group = 0; group < JOB_GROUP_COUNT; group++) {
        simulation.meetings[group] = calloc(2 * ranks, sizeof(*simulation.meetings[group]));
        memory = memory && simulation.meetings[group];
    }
    if (memory) {
        memset(job->durations, 0xff,
               ranks * job->steps * job->communications * sizeof(*job->durations)); /* JOB_STUCK */
        run_all(&simulation);
    }
    free(simulation.runs);
    free(simulation.at);
    free(simulation.ready);
    for (int group = 0; group < JOB_GROUP_COUNT; group++)
        free(simulation.meetings[group]);
    return memory ? 0 : error_no_memory("the simulation");
}
