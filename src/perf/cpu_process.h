/*
 * The processes that perf events are of, and what goes into their files: stacks once each, names of threads, mappings,
 * and times in which threads were off the processor.
 */
#ifndef GPUTRACE_PERF_CPU_PROCESS_H
#define GPUTRACE_PERF_CPU_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/buffer.h"
#include "common/map.h"
#include "common/spool.h"
#include "perf/python_process.h"
#include "perf/rings.h"
#include "symbols/unwind.h"

#define NAME_BYTES 16  /* of a thread, as the kernel has it */
#define CALLS_MOST 128 /* of a stack */

/*
 * What perf events say of one process, in the run directory: a file in the format of spools (common/spool.h), so that
 * everything that reads spools reads it too. It holds the agent's records CPU_SAMPLE, THREAD_STATE, STACK, MAPPING and
 * THREAD_NAME, in chunks that are done. It is appended to now and then, and open only meanwhile: a run may have many
 * processes. If we are killed, what was not appended yet is lost.
 */
struct cpu_file {
    struct spool_header header;
    struct buffer records; /* not in the file yet */
    uint64_t sequence;
    uint64_t wanting; /* CLOCK_MONOTONIC when the first of RECORDS came; 0: there are none */
    int directory;    /* of the run */
    char name[48];    /* of the file; "": it does not exist yet */
    bool failed;      /* it cannot be written: what comes is dropped and counted */
    uint64_t dropped;
};

struct cpu_thread {
    uint32_t tid, pid;
    uint64_t out;               /* when it left the processor; 0: it is on one */
    uint64_t calls[CALLS_MOST]; /* where it did */
    size_t call_count;
    uint32_t waker;
    uint16_t state;      /* enum spool_thread_state_kind */
    bool left;           /* CALLS and STATE are of the switch to come */
    bool named;          /* its name is in the file */
    uint32_t system_tid; /* its number for the kernel; 0: not known */
    char name[NAME_BYTES];
};

struct cpu_process {
    uint32_t pid, parent;
    uint64_t started; /* host's CLOCK_MONOTONIC */
    uint64_t process_started, pid_namespace;
    uint32_t threads; /* that live, as far as is known */
    bool ours;        /* it is to be recorded */
    bool described;   /* FILE's header is filled in */
    uint64_t lost;
    char name[NAME_BYTES];
    struct code_map code;
    struct python_process *python; /* NULL: it runs no Python, or none that can be read */
    struct map stacks;             /* hash -> number */
    uint32_t stack_count;
    struct cpu_file file;
};

/* What all share. */
struct cpu_processes {
    int directory;
    int64_t clock_offset; /* CLOCK_REALTIME minus the host's CLOCK_MONOTONIC when the run began */
    uint64_t from, to;    /* CLOCK_REALTIME: only what is in between is recorded; TO 0: no end */
    uint32_t first;       /* pid: of the only process that is recorded; 0: all are */
    const char *ranks;    /* whose processes are recorded; NULL: all are */
    struct unwinder *unwinder;
    struct map processes; /* pid -> struct cpu_process * */
    struct map threads;   /* tid -> struct cpu_thread * */
    struct map system;    /* thread's number for the kernel -> tid */
    unsigned pythons;     /* processes that have one */
    uint64_t ticked;      /* when they were read last … */
    uint64_t tick;        /* … and how long until the next time, ns */
    bool python_refused;  /* the system does not let us read them */
    uint64_t samples, states;
};

/* --- the file of a process: cpu_records.c --- */

/* DIRECTORY stays open as long as FILE. What the header says of the process is the caller's to fill in. */
void cpu_file_init(struct cpu_file *file, int directory);

/* Appends a record of SIZE bytes, of whose end LENGTH bytes at TEXT (NULL: none) take the place of its last SPACE
 * bytes. */
void cpu_file_add(struct cpu_file *file, struct spool_record *record, size_t size, const void *text, uint32_t length,
                  size_t space);

/* Puts what there is into the file, with the header as it is now. */
void cpu_file_flush(struct cpu_file *file);

/* The last flush; releases what FILE holds. LOST: records that the kernel had no space for. */
void cpu_file_close(struct cpu_file *file, uint64_t lost);

/* --- cpu_process.c --- */

static inline uint64_t cpu_real_time(const struct cpu_processes *processes, uint64_t time)
{
    return time + (uint64_t)processes->clock_offset;
}

/* Whether any of the time FROM to TO is. */
static inline bool cpu_is_recorded(const struct cpu_processes *processes, uint64_t from, uint64_t to)
{
    return cpu_real_time(processes, to) >= processes->from &&
           (processes->to == 0 || cpu_real_time(processes, from) <= processes->to);
}

/* A process that is not known gets what its parent has. NULL: there is none; of get() also: no memory, or it is not
 * the number of one. */
struct cpu_process *cpu_process_find(const struct cpu_processes *processes, uint32_t pid);
struct cpu_process *cpu_process_get(struct cpu_processes *processes, uint32_t pid, uint32_t parent, uint64_t time);
void cpu_process_end(struct cpu_processes *processes, struct cpu_process *process);
/* Begins another file for the process, from TIME on. */
void cpu_process_start_file(struct cpu_processes *processes, struct cpu_process *process, uint64_t time);
/* Takes PYTHON, and frees what the process had. */
void cpu_process_set_python(struct cpu_processes *processes, struct cpu_process *process,
                            struct python_process *python);
/* The memory of the process cannot be read, with this errno; one message says it for all processes. */
void cpu_process_refuse_python(struct cpu_processes *processes, const struct cpu_process *process, int failure);
/* Describes the process in its file, before the first record. Most processes of a shell script have no record. */
void cpu_process_describe(struct cpu_processes *processes, struct cpu_process *process);
void cpu_process_add_mapping(struct cpu_processes *processes, struct cpu_process *process,
                             const struct code_range *range);

struct cpu_thread *cpu_thread_find(const struct cpu_processes *processes, uint32_t tid);
struct cpu_thread *cpu_thread_get(struct cpu_processes *processes, struct cpu_process *process, uint32_t tid);
void cpu_thread_drop(struct cpu_processes *processes, struct cpu_thread *thread);
/* Writes the thread's name into the file, if it is not there. TIME: CLOCK_REALTIME. */
void cpu_thread_add_name(struct cpu_process *process, struct cpu_thread *thread, uint64_t time);
/* The thread is back on a processor, or it or the run has ended: writes the time in which it was off. */
void cpu_thread_came_in(struct cpu_processes *processes, struct cpu_process *process, struct cpu_thread *thread,
                        uint64_t time);

/* --- cpu_records.c --- */

/* Takes one record. */
void cpu_processes_take(struct cpu_processes *processes, const struct perf_record *record);

/* The number of the stack of COUNT calls, innermost first, that thread TID was in from FROM to TO; it is put into the
 * file when it is new. Functions of Python are put into CALLS (space for CALLS_MOST). 0: it is not known. */
uint32_t cpu_process_stack(struct cpu_processes *processes, struct cpu_process *process, uint32_t tid, uint64_t from,
                           uint64_t to, uint64_t *calls, size_t count);

/* --- cpu_process.c --- */

/* Reads what Python does, when that was not done for a while; NOW: host's CLOCK_MONOTONIC. */
void cpu_processes_tick(struct cpu_processes *processes, uint64_t now);
/* How long the next tick may wait, ms; at most MOST. */
int cpu_processes_wait(const struct cpu_processes *processes, int most);

/* Files are appended to: of processes with records since a while; ALL: of all. */
void cpu_processes_flush(struct cpu_processes *processes, bool all);
/* The end: threads that are off the processor have been so until TIME. */
void cpu_processes_finish(struct cpu_processes *processes, uint64_t time);

#endif
