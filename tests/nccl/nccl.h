/*
 * A stand-in for NCCL on the simulated GPU: the functions and types of NCCL 2.28 that tests need, with NCCL's names.
 * Its ranks are processes on one machine. Its kernels move no bytes: they take time, wait for the last rank, and have
 * the names of NCCL's kernels. Its NVTX ranges have the names, schemas and payloads of NCCL's.
 */
#ifndef TESTS_NCCL_NCCL_H
#define TESTS_NCCL_NCCL_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/meeting.h"

#define NCCL_RANKS MEETING_SIDES

typedef enum { ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg } ncclRedOp_t;
typedef enum { ncclInt8 = 0, ncclUint8, ncclInt32, ncclInt64 = 4, ncclFloat16 = 6, ncclFloat32 = 7 } ncclDataType_t;

typedef enum {
    FUNCTION_ALL_GATHER,
    FUNCTION_ALL_REDUCE,
    FUNCTION_ALL_TO_ALL,
    FUNCTION_BROADCAST,
    FUNCTION_GATHER,
    FUNCTION_REDUCE,
    FUNCTION_REDUCE_SCATTER,
    FUNCTION_SCATTER,
    FUNCTION_SEND,
    FUNCTION_RECV,
    FUNCTION_COUNT
} nccl_function;

/* In memory that all ranks share: where their kernels meet. Starts as zeros. */
struct nccl_shared {
    atomic_uint_least32_t here; /* ranks that have come */
    struct meeting_place world, halves[2];
    struct meeting_place pairs[NCCL_RANKS][NCCL_RANKS]; /* from, to */
};

struct ncclComm {
    uint64_t hash;
    int ranks, rank, device;
    int first, stride; /* rank R of it is rank first + R * stride of the job */
    struct nccl_shared *shared;
    struct meeting_place *place;
    uint64_t next[FUNCTION_COUNT]; /* collective operations so far */
    void *profiler;                /* the plugin's */
};
typedef struct ncclComm *ncclComm_t;

int ncclGetVersion(int *version);

/* The communicator of all ranks. Waits for them. NAME is that of the job. */
ncclComm_t ncclCommInitRank_(struct nccl_shared *shared, const char *name, int ranks, int rank, int device);
/* That of the ranks with this one's parity; of an even number of ranks. */
ncclComm_t ncclCommSplit_(ncclComm_t parent);
void ncclCommDestroy(ncclComm_t comm);

/* From now on communicators do not block: calls return, and their kernels are launched, each group's by a thread of
 * its own, when the program waits for all communicators to be ready. */
void ncclSetNonblocking_(void);
void ncclWaitReady_(void);

void ncclGroupStart(void);
void ncclGroupEnd(void);
void ncclAllReduce(size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, CUstream stream);
void ncclReduceScatter(size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, CUstream stream);
void ncclReduce(size_t count, ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm, CUstream stream);
void ncclAllGather(size_t count, ncclDataType_t type, ncclComm_t comm, CUstream stream);
void ncclAlltoAll(size_t count, ncclDataType_t type, ncclComm_t comm, CUstream stream);
void ncclBroadcast(size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream);
void ncclGather(size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream);
void ncclScatter(size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream);
void ncclSend(size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream);
void ncclRecv(size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream);

/* --- within --- */

/* A call that is not launched yet. */
struct task {
    nccl_function function;
    ncclComm_t comm;
    CUstream stream;
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t op;
    int peer;                 /* or root */
    void *call_event, *event; /* the plugin's */
};

size_t type_size(ncclDataType_t type);

/* NVTX: nvtx.c. The range of a call, which ends with nvtx_pop(). */
void nvtx_call(const struct task *task);
void nvtx_plain(const char *name);
void nvtx_pop(void);
void nvtx_init_pop(uint64_t schema, uint64_t hash, uint64_t parent, int ranks, int rank, int device);
enum { SCHEMA_INIT_RANK = 0, SCHEMA_DESTROY = 2, SCHEMA_SPLIT = 13 };
void nvtx_destroy(ncclComm_t comm);

/* Kernels: kernels.c. Launches the kernel of COUNT tasks of one communicator and one sort. */
void kernel_launch(const struct task *tasks, size_t count);
/* A kernel of the program's own that takes so long, or MEETING_ENDLESS. */
void kernel_compute(const char *name, uint64_t duration, CUstream stream);
void must(CUresult result, const char *what);
#define MUST(call) must(call, #call)

#endif
