/*
 * The processes that have perf events, and the records of their files: each stack once, names of threads, mappings, and
 * times in which threads were off the processor.
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

#define NAME_BYTES 16  /* of a thread's name with its NUL, as in the kernel */
#define CALLS_MOST 128 /* in a stack */

/*
 * The file of one process in the run directory. It has the format of spools (common/spool.h), so that every reader of
 * spools can read it: records CPU_SAMPLE, THREAD_STATE, STACK, PYTHON_FRAME, MAPPING and THREAD_NAME in chunks that are
 * done. It is open only while records are appended, since a run may have many processes. If we are killed, records that
 * were not appended yet are lost.
 */
struct cpu_file {
    struct spool_header header;
    struct buffer records; /* not in the file yet */
    uint64_t sequence;
    uint64_t wanting; /* CLOCK_MONOTONIC when the first of RECORDS was added; 0: none */
    int directory;    /* descriptor of the run directory */
    char name[48];    /* of the file; "" until it exists */
    bool failed;      /* the file cannot be written: new records are dropped */
    uint64_t dropped;
};

struct cpu_thread {
    uint32_t tid, pid;
    uint64_t out;               /* when it left its processor, ns; 0: it is on a processor */
    uint64_t calls[CALLS_MOST]; /* its stack then */
    size_t call_count;
    uint32_t waker;
    uint16_t state;      /* enum spool_thread_state_kind */
    bool left;           /* CALLS and STATE are of the PERF_KIND_OUT to come */
    bool named;          /* the process's file has its name */
    uint32_t system_tid; /* its tid in the initial pid namespace; 0: unknown */
    char name[NAME_BYTES];
};

struct cpu_process {
    uint32_t pid, parent;
    uint64_t started; /* host's CLOCK_MONOTONIC */
    uint64_t process_started, pid_namespace;
    uint32_t threads; /* number of its known threads that live */
    bool ours;        /* its events are recorded */
    bool described;   /* FILE's header is filled in */
    uint64_t lost;
    char name[NAME_BYTES];
    struct code_map code;
    struct python_process *python; /* NULL if it runs no Python that can be read */
    struct map stacks;             /* hash of a stack -> its number */
    uint32_t stack_count;
    struct cpu_file file;
};

/* All processes, and what they share. */
struct cpu_processes {
    int directory;
    int64_t clock_offset; /* CLOCK_REALTIME minus the host's CLOCK_MONOTONIC when the run began */
    uint64_t from, to;    /* ns of CLOCK_REALTIME: only events in between are recorded; TO is 0 for no end */
    uint32_t first;       /* pid of the only process that is recorded; 0: all are */
    const char *ranks;    /* list of the ranks whose processes are recorded; NULL: all */
    struct unwinder *unwinder;
    struct map processes; /* pid -> struct cpu_process * */
    struct map threads;   /* tid -> struct cpu_thread * */
    struct map system;    /* tid in the initial pid namespace -> tid */
    unsigned pythons;     /* number of processes with `python` */
    uint64_t ticked;      /* when these were read last, host's CLOCK_MONOTONIC */
    uint64_t tick;        /* ns from one tick to the next */
    bool python_refused;  /* a warning has said that their memory cannot be read */
    uint64_t samples, states;
};

/* --- the file of a process: cpu_records.c --- */

/* DIRECTORY must stay open until FILE is closed. The caller fills in the header's members about the process. */
void cpu_file_init(struct cpu_file *file, int directory);

/* Appends a record of SIZE bytes. LENGTH bytes of TEXT take the place of its last SPACE bytes, unless TEXT is NULL. */
void cpu_file_add(struct cpu_file *file, struct spool_record *record, size_t size, const void *text, uint32_t length,
                  size_t space);

/* Writes the header and all appended records to the file. */
void cpu_file_flush(struct cpu_file *file);

/* Flushes FILE with a finished header and releases it. LOST is the number of records that the kernel had no space
 * for. */
void cpu_file_close(struct cpu_file *file, uint64_t lost);

/* --- cpu_process.c --- */

static inline uint64_t cpu_real_time(const struct cpu_processes *processes, uint64_t time)
{
    return time + (uint64_t)processes->clock_offset;
}

/* Whether a part of the time FROM to TO, host's CLOCK_MONOTONIC, is recorded. */
static inline bool cpu_is_recorded(const struct cpu_processes *processes, uint64_t from, uint64_t to)
{
    return cpu_real_time(processes, to) >= processes->from &&
           (processes->to == 0 || cpu_real_time(processes, from) <= processes->to);
}

/* Both return a known process. For an unknown one find() returns NULL; get() adds it, with its parent's mappings and
 * Python, or returns NULL if memory is short or no process can have this pid. */
struct cpu_process *cpu_process_find(const struct cpu_processes *processes, uint32_t pid);
struct cpu_process *cpu_process_get(struct cpu_processes *processes, uint32_t pid, uint32_t parent, uint64_t time);
void cpu_process_end(struct cpu_processes *processes, struct cpu_process *process);
/* Begins a new file for the process. TIME is the host's CLOCK_MONOTONIC. */
void cpu_process_start_file(struct cpu_processes *processes, struct cpu_process *process, uint64_t time);
/* Takes ownership of PYTHON, which may be NULL, and frees the one that the process had. */
void cpu_process_set_python(struct cpu_processes *processes, struct cpu_process *process,
                            struct python_process *python);
/* Warns that the memory of PROCESS cannot be read, with errno FAILURE; only the first call of a run prints. */
void cpu_process_refuse_python(struct cpu_processes *processes, const struct cpu_process *process, int failure);
/* Describes the process in its file. Called before its first record, since most processes of a script have none. */
void cpu_process_describe(struct cpu_processes *processes, struct cpu_process *process);
void cpu_process_add_mapping(struct cpu_processes *processes, struct cpu_process *process,
                             const struct code_range *range);

struct cpu_thread *cpu_thread_find(const struct cpu_processes *processes, uint32_t tid);
struct cpu_thread *cpu_thread_get(struct cpu_processes *processes, struct cpu_process *process, uint32_t tid);
void cpu_thread_drop(struct cpu_processes *processes, struct cpu_thread *thread);
/* Writes the thread's name to the file, unless the file has it. TIME is CLOCK_REALTIME. */
void cpu_thread_add_name(struct cpu_process *process, struct cpu_thread *thread, uint64_t time);
/* Writes the time in which the thread was off its processor, because it is back at TIME, or it or the run has ended. */
void cpu_thread_came_in(struct cpu_processes *processes, struct cpu_process *process, struct cpu_thread *thread,
                        uint64_t time);

/* --- cpu_records.c --- */

/* Handles one record. Records must come in order of time. */
void cpu_processes_take(struct cpu_processes *processes, const struct perf_record *record);

/* Returns the number of the stack of thread TID from FROM to TO, which is written to the file if it is new; 0 if there
 * is none. CALLS (space for CALLS_MOST) has COUNT addresses, innermost first; functions of Python are added to it. */
uint32_t cpu_process_stack(struct cpu_processes *processes, struct cpu_process *process, uint32_t tid, uint64_t from,
                           uint64_t to, uint64_t *calls, size_t count);

/* --- cpu_process.c --- */

/* Reads the Python stacks of all processes if the next tick is due at NOW, host's CLOCK_MONOTONIC. */
void cpu_processes_tick(struct cpu_processes *processes, uint64_t now);
/* Flushes the files whose first appended record has waited for half a second. */
void cpu_processes_flush(struct cpu_processes *processes);
/* Ends all processes with the recording. Threads that are off their processor were off until TIME. */
void cpu_processes_finish(struct cpu_processes *processes, uint64_t time);

#endif
