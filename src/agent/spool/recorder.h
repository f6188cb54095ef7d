/*
 * How events become records in the spool: chunks, a writer for each thread (writer.c), the subscribers that write
 * records (recorder.c, record_cuda.c, record_nvtx.c), and call stacks (stacks.c, call_stacks.c).
 */
#ifndef GPUTRACE_AGENT_SPOOL_RECORDER_H
#define GPUTRACE_AGENT_SPOOL_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/dispatch/fork_watch.h"
#include "agent/dispatch/registry.h"
#include "agent/spool/spool_file.h"
#include "common/settings.h"
#include "common/spool.h"
#include "common/spool_records.h"
#include "common/text.h"

/*
 * Chunks of the spool, handed out and taken back. What comes back half empty is cut, and the rest handed out again:
 * chunk_pool.c keeps the chunks that are ready. Asking takes a lock that is only ever held for a few instructions.
 *
 * A thread that has recorded little gets small chunks: a program may have thousands of such threads.
 */

/* Opens the spool of this process in DIRECTORY, with a little space in the pool. Returns 0, or -1 with errno set. */
int chunks_open(const char *directory, uint64_t trace_bits);

/* Returns a chunk for this thread, in use and empty, of LEAST to MOST bytes with its header. Returns NULL if the spool
 * is full, or the child was not announced (fork_watch.h). */
struct spool_chunk *chunk_take(enum spool_chunk_type type, uint64_t least, uint64_t most);

/* The chunk holds USED bytes of data and is finished with; the rest of its space is handed out again. */
void chunk_done(struct spool_chunk *chunk, uint64_t used);

/* Bytes of data that the chunk has space for. */
static inline uint64_t chunk_space(const struct spool_chunk *chunk)
{
    return chunk->bytes - sizeof(*chunk);
}

static inline char *chunk_data(struct spool_chunk *chunk)
{
    return (char *)(chunk + 1);
}

static inline struct spool_chunk *chunk_of_data(void *data)
{
    return (struct spool_chunk *)data - 1;
}

/* When the spool's file was removed: no chunk is handed out any more, and the space of unused chunks is given
 * back. True: it was removed since the last call. */
bool chunks_end_if_removed(void);

/* In a forked child: leaves the parent's spool, with a new fork_generation(). The next chunks_open() makes an own one.
 */
void chunks_atfork_child(void);

/*
 * Each thread's own records: the way from an event to bytes that survive the process.
 *
 *     struct spool_memory *record = writer_begin(SPOOL_RECORD_MEMORY, sizeof(*record), clock_now());
 *     if (record) { ...fill...; writer_commit(&record->head); }
 *
 * A thread writes into its own chunk without a lock; a record becomes visible as a whole. A signal handler that comes
 * between begin and commit of its own thread is turned away, and the loss is counted.
 *
 * A handler may also leave by siglongjmp(), and then the begun record is never committed. It is abandoned, and counted,
 * by the next record of the thread whose stack pointer shows that the begun one's function is gone. Where the thread is
 * deeper in its stack from then on, it cannot be distinguished from a handler: after WRITER_BUDGET records that were
 * turned away the thread takes another chunk, so that both can go on.
 */

/* Texts longer than this are cut: 16 KiB name anything. */
#define WRITER_TEXT_MAX ((uint32_t)TEXT_MAX)

/* Records turned away in a row before the one that was begun is abandoned. */
#define WRITER_BUDGET 16u

/* This thread's. What every record passes is inline below; the rest is in writer.c. */
struct writer {
    struct spool_chunk *chunk;
    char *next;          /* where the next record comes … */
    char *end;           /* … before this; both NULL without a chunk */
    uint32_t generation; /* of the chunk: a forked child leaves it */
    uint32_t next_bytes; /* of the next chunk, 0: it is the first */
    uint32_t thread;
    uint32_t turned_away; /* records, since one was last begun */
    uintptr_t begun;      /* the stack pointer where a record was begun that is not committed; 0: none */
    char comm[16];        /* the thread's name, as it was recorded last; empty: not yet */
};
extern __thread struct writer this_writer;

/* Bytes of data in its chunk. */
static inline uint64_t writer_used(const struct writer *mine)
{
    return (uint64_t)(mine->next - chunk_data(mine->chunk));
}

/* A fresh chunk for this thread, with space for a record of BYTES; the one before is full, or the parent's. False:
 * there spool is full, or the child was not announced (fork_watch.h), and it is counted. */
bool writer_renew(struct writer *mine, uint32_t bytes) __attribute__((cold));
/* A record was begun before the one that the caller wants to begin. One of them is lost, and counted. True: the one
 * before was abandoned; else the caller's is turned away. */
bool writer_abandon(struct writer *mine) __attribute__((cold));

static inline void writer_note_begun(struct writer *mine)
{
#if defined(__x86_64__)
    __asm__ volatile("mov %%rsp, %0" : "=m"(mine->begun));
#else
    mine->begun = (uintptr_t)__builtin_frame_address(0);
#endif
}

/* Finding a thread-local variable takes a call, and compilers repeat the call rather than keep its result. */
static inline struct writer *writer_mine(void)
{
    struct writer *mine = &this_writer;
    __asm__("" : "+r"(mine));
    return mine;
}

/* Space for a record of BYTES, in which anything may stand: space that was used before is not blank. NULL: not
 * recorded, and counted. */
static inline char *writer_reserve(struct writer *mine, uint32_t bytes)
{
    if (mine->begun && !writer_abandon(mine))
        return NULL;
    writer_note_begun(mine);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    bool fits = (uintptr_t)mine->next + bytes <= (uintptr_t)mine->end && mine->generation == fork_generation();
    if (!fits && !writer_renew(mine, bytes)) {
        mine->begun = 0;
        return NULL;
    }
    return mine->next;
}

/* Begins a record of BYTES at TIME (CLOCK_REALTIME, ns): writes its head, and zeros the rest of the first SIZE bytes
 * and the last word, in which a text may end. The caller writes what is between. */
static inline void *writer_begin_in(struct writer *mine, enum spool_record_type type, uint32_t size, uint32_t bytes,
                                    uint64_t time)
{
    char *at = writer_reserve(mine, bytes);
    if (!at)
        return NULL;
    memset(at + bytes - sizeof(uint64_t), 0, sizeof(uint64_t));
    memset(at, 0, size);
    *(struct spool_record *)at = (struct spool_record){.type = (uint16_t)type, .bytes = bytes, .time = time};
    return at;
}

/* Begins a record without a text. */
static inline void *writer_begin(enum spool_record_type type, uint32_t bytes, uint64_t time)
{
    return writer_begin_in(writer_mine(), type, bytes, bytes, time);
}

/* Makes the record last begun by this thread visible, unless it was abandoned. */
static inline void writer_commit_in(struct writer *mine, const struct spool_record *record)
{
    if ((const char *)record != mine->next)
        return;
    mine->next += record->bytes;
    __atomic_store_n(&mine->chunk->used, writer_used(mine), __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    mine->begun = 0;
}

static inline void writer_commit(const struct spool_record *record)
{
    writer_commit_in(writer_mine(), record);
}

/* Writes a struct spool_NAME without a text, with this thread's struct writer. What follows initialises its other
 * members, and is evaluated before the record is begun. */
#define record_write_in(by_writer, kind, name, at_time, ...)                                                 \
    do {                                                                                                     \
        const struct spool_##name written = {                                                                \
            .head = {.type = (kind), .bytes = sizeof(struct spool_##name), .time = (at_time)}, __VA_ARGS__}; \
        struct writer *by = (by_writer);                                                                     \
        struct spool_##name *at = (void *)writer_reserve(by, sizeof(written));                               \
        if (at) {                                                                                            \
            *at = written;                                                                                   \
            writer_commit_in(by, &at->head);                                                                 \
        }                                                                                                    \
    } while (0)

#define record_write(kind, name, at_time, ...) record_write_in(writer_mine(), kind, name, at_time, __VA_ARGS__)

/* This thread records nothing any more: what it would is counted, without a system call. Async-signal-safe. */
void writer_sleep(void);

/* At the end of the process: records the names that its threads have now, which they may have got after their first
 * record. Not in a sandbox (seccomp), which may end the process for it. */
void writer_name_threads(void);

/* This thread's gettid(), without a system call but for the first time. */
uint32_t writer_thread(void);

/*
 * The recorder: subscribers that write events into the spool. record_cuda.c writes those of CUDA, record_nvtx.c those
 * of NVTX; here are recording on and off, notes to the user and the records of plugins.
 *
 * Names, contexts, streams, memory and phases are always written, because the trace cannot be read without them; NVTX
 * events and synchronisation only while recording is on. For CUDA events alone (TRACE_EVENT without TRACE_SYNC) nothing
 * is written: CUPTI records their calls.
 */

/* Recording goes on or off, as of TIME (CLOCK_REALTIME, ns); REASON is written beside it. */
void recorder_switch(bool on, uint64_t time, const char *reason);

/* Notes what the process did while recording waits for something else: WHAT is SPOOL_SEEN_RANGE … */
void recorder_seen(uint16_t what, struct gputrace_text text);

extern bool recorder_on;
/* Whether recording is on. */
static inline bool recorder_is_on(void)
{
    return __atomic_load_n(&recorder_on, __ATOMIC_RELAXED);
}

/* Records a message to the user. The tool puts it into the trace, and prints a warning when it makes the trace. */
void recorder_note(uint16_t flags, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Records a message that the user may want to read while the program runs, and prints it now if that is possible. */
void recorder_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* --- what is written of CUDA (record_cuda.c) and NVTX (record_nvtx.c) --- */

/* Each subscribes to what TRACE_BITS ask for. Returns 0, or -1 without memory. */
int record_cuda_subscribe(uint64_t trace_bits);
/* Subscribes to what nodes of graphs launch, for traces with a record per node. */
int record_cuda_subscribe_graph_nodes(void);
int record_nvtx_subscribe(void);

/* The registry's shortcut: an NVTX event that happens now and has nothing but a message. */
void record_nvtx_briefly(enum spool_nvtx_what what, uint32_t domain, uint32_t string, struct gputrace_text message);

/* In a forked child: another thread may have held the lock. */
void record_nvtx_atfork_child(void);

/* --- records that end with a text --- */

/* How many bytes are kept of a text of LENGTH. */
static inline uint32_t record_text_kept(uint32_t length)
{
    return length < WRITER_TEXT_MAX ? length : WRITER_TEXT_MAX;
}

/* Returns that, too, and counts a text that is cut. */
static inline uint32_t record_text_cut(uint32_t length)
{
    if (length > WRITER_TEXT_MAX)
        __atomic_add_fetch(&spool_file_header()->losses.cut_texts, 1, __ATOMIC_RELAXED);
    return record_text_kept(length);
}

/* Writes the first KEPT bytes of TEXT, which is longer, to AT, with the hash of the whole. */
void record_put_cut(char *at, struct gputrace_text text, uint32_t kept) __attribute__((cold));

/* Writes the KEPT bytes of TEXT to AT, likewise where that is less than the whole. */
static inline void record_put_text(char *at, struct gputrace_text text, uint32_t kept)
{
    if (text.length > kept)
        record_put_cut(at, text, kept);
    else if (kept > 0)
        memcpy(at, text.bytes, kept);
}

/* Writes a record of SIZE bytes that ends with `length` and, at TEXT_AT, `text`: TEXT and then MORE, each cut where it
 * is too long: symbols at SPOOL_SYMBOL_MAX, which is not counted. The rest is complete but for its head, in which only
 * the flags are set; FLAGS are added. False: it is not recorded. */
bool record_write_texts(enum spool_record_type type, uint16_t flags, uint64_t time, const struct spool_record *record,
                        uint32_t size, uint32_t text_at, struct gputrace_text text, struct gputrace_text more);

/* Writes a struct spool_NAME with a text; what follows initialises its other members. */
#define record_write_text(type, name, time, with_text, ...)                                                      \
    record_write_texts((type), 0, (time), &(struct spool_##name){__VA_ARGS__}.head, sizeof(struct spool_##name), \
                       offsetof(struct spool_##name, text), (with_text), (struct gputrace_text){0})

/*
 * What plugins, and the program through its host, add to the spool. The number of a client is the registry's: 1 is the
 * program, plugins follow from 2. Texts that are too long are cut, and the loss is counted.
 */

/* Once for each client and spool, before any other record of it. */
void plugin_record_client(uint32_t client, const char *name);

/* What the client's callbacks took so far. */
void plugin_record_time(uint32_t client, uint64_t calls, uint64_t ns);

/* A slice, an instant, a counter's value: WHAT is SPOOL_PLUGIN_SLICE …. Texts may be NULL. */
struct plugin_event {
    uint16_t what;
    uint32_t client;
    uint64_t start, end; /* ns; END of a slice alone */
    double value;        /* of a counter */
    const char *name, *detail;
};
void plugin_record_event(const struct plugin_event *event);

/* A line for the user; STACK (0: none) is the number of one that was recorded. */
void plugin_record_line(uint32_t client, uint32_t stack, const char *text);

/*
 * The crash chunk: a chunk of the spool that is kept ready for a crashing thread, which cannot ask for one.
 *
 * It begins with a table of open driver calls, each a record that is reused for one call after another. The records of
 * the crashing thread follow.
 */

#define CRASH_CHUNK_CALLS 256u /* open at once; more are left out */
#define CRASH_CHUNK_BYTES (2 * RECORDS_CHUNK_BYTES)

/* Takes the chunk, once for a spool; where the spool is full the rest does nothing. Returns 0 or -1. */
int crash_chunk_open(void);

/* Subscribes to open calls, if TRACE_BITS ask for it. Returns 0, or -1: no memory. */
int crash_chunk_subscribe(uint64_t trace_bits);

/* Space for a record of TYPE and BYTES that is the last in the chunk, its head filled in, the rest zero; NULL: there is
 * none. crash_chunk_commit() makes it visible. Async-signal-safe, for one thread at a time. */
void *crash_chunk_begin(enum spool_record_type type, uint32_t bytes, uint64_t time);
void crash_chunk_commit(const struct spool_record *record);

/* In a forked child: the chunk is the parent's. */
void crash_chunk_atfork_child(void);

/*
 * The call stack of this thread as return addresses, and a memory of the last ones.
 *
 * Unwinding takes a third of a microsecond for each frame, and most programs ask from the same places again and again.
 * So the last stacks of each thread are remembered together with where on the stack their return addresses lie. When
 * the caller's frame lies where it lay then, and every return address is where it was, innermost first, then each
 * frame is the same as then, and nothing needs to be unwound.
 *
 *     const void *frame = __builtin_frame_address(0);
 *     number = unwind_recall(frame, key);
 *     if (!number) { unwind(&unwound); number = …; unwind_remember(frame, key, &unwound, number); }
 */

#define UNWIND_FRAMES_MAX 128

struct unwound {
    unsigned count;
    uint64_t at[UNWIND_FRAMES_MAX];    /* return addresses, innermost first; the first lies in unwind() */
    uint64_t place[UNWIND_FRAMES_MAX]; /* where on the stack each of them was taken from */
};

/* Calls RUN(CONTEXT): on this thread's stack if much of it is left, else, as in a coroutine, whose stack may be of a
 * few KiB, on another one of the thread. What is unwound there begins with RUN and goes on with the caller. */
void unwind_with_space(void (*run)(void *context), void *context);

/* Loads what unwinding needs; unwind() does it otherwise. Takes the loader's lock. */
void unwind_prepare(void);

/* Unwinds the calling thread. UNWOUND has no frames if that is not possible. */
void unwind(struct unwound *unwound);

/* The number that unwind_remember() got for the stack that the calling function has now, and KEY; 0: nothing is known.
 * FRAME is the function's __builtin_frame_address(0). */
uint32_t unwind_recall(const void *frame, uint64_t key);

/* Does nothing where stacks cannot be recognised: on other processors than x86-64, and within signal handlers. */
void unwind_remember(const void *frame, uint64_t key, const struct unwound *unwound, uint32_t number);

/*
 * Call stacks of the program, kept once each.
 *
 * A stack is written into the spool as addresses when it first comes, with the lines of /proc/self/maps that say what
 * lies there; gputrace finds functions, files and lines after the program's end. What belongs to the tracing is left
 * out: gputrace, CUPTI and, in a callback, the caller.
 *
 * In a process with Python, its functions stand where the interpreter runs them, and the interpreter's own frames are
 * left out: innermost the C code that a function called, then that function and its callers, then the C code that
 * called those. A function is a word of agent/python/frames.h, whose names are a record of their own.
 */

#define STACK_FRAMES_MAX 64  /* outer frames than these are left out */
#define STACK_WORDS_MAX 128u /* the same of a stack with functions of Python */

/* Before the first stack: loads what unwinding needs, so that this does not happen in the midst of a call. Takes the
 * loader's lock. */
void stacks_prepare(void);

/* The number of this thread's stack without SKIP more of the innermost frames; 0: none could be had or written. From
 * any thread; takes a microsecond or several, a new stack more. */
uint32_t stacks_take(uint32_t skip);

/* Whether this process runs Python whose functions can be read. Takes the loader's lock. */
bool stacks_look_for_python(void);

/* The number of this thread's stack of Python's functions alone; 0: it runs none. From any thread; takes a fraction of
 * a microsecond where they were seen before. */
uint32_t stacks_take_python(void);

/* In a forked child: what was written is the parent's. Numbers begin at 1 again. */
void stacks_atfork_child(void);

/*
 * Call stacks of launches, of waits and of nodes of graphs: a record for each that has one, which names the call or the
 * node (call_stacks.c). Allocations have theirs in their own record.
 */

/* BITS of enum stacks_bits; EVERY: of the launches of one kernel and grid by one thread the first has its stack, and
 * one of so many afterwards (0: STACKS_EVERY_DEFAULT). NODES: with launches, also of nodes of graphs. Once, before
 * recording is first switched on. */
void call_stacks_init(uint64_t bits, uint64_t every, bool nodes);

/* From the next switch on, calls that get no whole stack get one of Python functions alone. Must not run at the same
 * time as a switch. */
void call_stacks_add_python(void);

/* This thread's stack, whole or of Python's functions alone, as it is wanted of WHAT; 0: neither is, or none could be
 * had. */
uint32_t call_stack_take(enum stacks_bits what);

/* Recording goes on or off: launches and waits have callbacks for their stacks only meanwhile. One call at a time. */
void call_stacks_switch(bool on);

#endif
