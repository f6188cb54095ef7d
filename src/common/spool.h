/*
 * The spool: the file that a traced process writes and gputrace reads, alive or dead.
 *
 * One file per process (and per exec), mapped MAP_SHARED by the writer, so that every byte stored is in the file
 * whatever ends the process. All numbers are little-endian as the machine has them; writer and reader run on one host.
 *
 *     +--------------+---------------------------+---------------------------+----- - -
 *     | spool_header | spool_chunk | data … space | spool_chunk | data … space | …
 *     +--------------+---------------------------+---------------------------+----- - -
 *     0              SPOOL_HEADER_BYTES          + chunk.bytes               + chunk.bytes … up to header.formatted
 *
 * Chunks lie end to end, each SPOOL_ALIGN-aligned, and `bytes` of one leads to the next. A chunk that was handed back
 * half empty is cut: a new chunk header is written into its space first, then `bytes` is shortened (release), so a
 * reader sees either state, and both are right. Their order in the file is therefore not the order of use: `sequence`
 * is.
 *
 * A chunk has one writer and holds one of two things:
 *
 *     SPOOL_CUPTI    CUPTI's activity records exactly as CUPTI laid them out. While in use, CUPTI owns it: `used` is 0,
 *                    and the records are found by walking kind after kind with the sizes in header.record_bytes until
 *                    kind 0 or an unknown one. A kind with the top bit set (SPOOL_IN_FLIGHT) is a record whose GPU
 *                    times CUPTI had not collected. When done, `used` bytes are valid.
 *     SPOOL_RECORDS  agent records (spool_records.h), by one thread; `used` (stored with release after the
 *                    record is complete) is valid at any time.
 *
 * The writer adds chunks by segments of SPOOL_SEGMENT_BYTES, counted from header.header_bytes, and no chunk reaches
 * over the end of its segment. The parts of the header and of the first segment that a process with few records does
 * not use are a hole in the file, which begins after a chunk's header.
 *
 * The writer holds a lock on the file while it lives (spool_lock_take()).
 *
 * While the program runs, its launcher drains the spool: it packs a chunk that is done into a file beside (struct
 * spool_packed), and then, in the spool, makes it SPOOL_DRAINED, so that the writer can reuse it. A segment of only
 * drained and unused chunks becomes one blank chunk again, whose `bytes` are stored first (release), and is reused with
 * other sequences. A chunk that the writer will not use again (SPOOL_NO_SEGMENT) becomes a hole in the file. So a
 * sequence can be in both files, with the same data, and counts once. When the process has ended, the launcher packs
 * the remaining chunks and removes both files, or cuts the spool behind its header: see struct spool_ended.
 *
 * A reader does not trust the file: sizes, types, alignments and counts are checked against the file's length.
 */
#ifndef GPUTRACE_COMMON_SPOOL_H
#define GPUTRACE_COMMON_SPOOL_H

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPOOL_MAGIC "GPUTRACE" /* 8 bytes, no NUL */
#define SPOOL_VERSION 1u
#define SPOOL_HEADER_BYTES 65536u /* a multiple of every size of page; readers go by header.header_bytes */
#define SPOOL_ALIGN 64u
static inline uint64_t spool_aligned(uint64_t bytes)
{
    return (bytes + SPOOL_ALIGN - 1) & ~(uint64_t)(SPOOL_ALIGN - 1);
}
#define SPOOL_SEGMENT_BYTES ((uint64_t)1 << 20)
#define SPOOL_SUFFIX ".spool"         /* files are named PID-N.spool: N tells apart several images of one pid */
#define SPOOL_PACKED_SUFFIX ".packed" /* chunks drained from the spool of this name */
#define SPOOL_NESTED_FILE "nested"    /* exists if another gputrace was started and recorded its own program */
#define SPOOL_CPU_SUFFIX ".cpu"       /* the launcher's records about a process, from perf events; PID-N as well */
/* A symbolic link in place of a spool that could not be made, because a link needs no descriptor. Its target is the
 * reason. */
#define SPOOL_UNRECORDED_SUFFIX ".unrecorded"

/* Reasons besides errno. */
#define SPOOL_FAILURE_MASK_KILLS 10001
#define SPOOL_FAILURE_MASK_UNKNOWN 10002

/* Returns the text of the link, why a process is not recorded. FAILURE is an errno or one of the reasons above. */
static inline const char *spool_failure_words(int failure)
{
    if (failure == SPOOL_FAILURE_MASK_KILLS)
        return "a filter of system calls (seccomp) would end it for rt_sigprocmask(), which recording needs";
    if (failure == SPOOL_FAILURE_MASK_UNKNOWN)
        return "it is not known whether its filter of system calls (seccomp) allows rt_sigprocmask()";
    return strerror(failure);
}

/* The header has the record sizes of CUPTI's activity kinds below this; this version does not know higher ones. */
#define SPOOL_CUPTI_KINDS 64
#define SPOOL_IN_FLIGHT UINT32_C(0x80000000)

/* Losses that the writer counts in the header.
 *      field             words for the user */
#define SPOOL_LOSSES(X)                                                                           \
    X(cupti_dropped, "records dropped by CUPTI for want of a buffer")                             \
    X(no_space, "records dropped because the spool could not grow")                               \
    X(nested, "records dropped because a signal handler interrupted a record of the same thread") \
    X(cut_texts, "texts cut because they are longer than 16 KiB")

struct spool_losses {
#define FIELD(field, words) uint64_t field;
    SPOOL_LOSSES(FIELD)
#undef FIELD
};

enum spool_state {
    SPOOL_OPEN = 1,     /* the process runs, or died without our exit handler */
    SPOOL_FINISHED = 2, /* our exit handler ran */
};

/* A step of CLOCK_REALTIME: from `monotonic` on it is OFFSET ns ahead of CLOCK_MONOTONIC. At `before` it still had the
 * offset of the previous entry; before the first entry, that of `started` and `started_monotonic`. */
struct spool_clock {
    uint64_t before, monotonic; /* CLOCK_MONOTONIC, ns */
    int64_t offset;
};
#define SPOOL_CLOCKS 32 /* later steps are dropped */

#define SPOOL_OWN_THREADS 8 /* limit of the agent's threads in an image of a process; two live at a time */

struct spool_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes; /* offset of the first chunk */
    uint32_t pid;
    uint32_t parent_pid;
    uint32_t state;             /* enum spool_state */
    uint32_t cupti_version;     /* result of cuptiGetVersion; 0: CUPTI was not used */
    int32_t driver_version;     /* result of cuDriverGetVersion; 0: unknown */
    int32_t runtime_version;    /* result of cudaRuntimeGetVersion; 0: unknown */
    uint64_t started;           /* CLOCK_REALTIME, ns, when the file was made */
    uint64_t started_monotonic; /* CLOCK_MONOTONIC at the same time, ns */
    uint64_t finished;          /* CLOCK_REALTIME when our exit handler ran, 0: it did not */
    uint64_t formatted;         /* bytes of the file that hold the header and whole chunks (release) */
    uint64_t trace_bits;        /* what is recorded: enum trace_bits */
    struct spool_losses losses;
    uint16_t record_bytes[SPOOL_CUPTI_KINDS]; /* size of each CUPTI kind's records, 0: not seen */
    char program[256];                        /* /proc/self/comm or exe's name, NUL-terminated */
    char command[2048];       /* the command line, arguments separated by blanks, NUL-terminated, cut when longer */
    uint64_t process_started; /* from /proc/PID/stat: differs if a pid is reused, not between images; 0: unknown */
    uint32_t rank;            /* rank in the job + 1; 0: unknown */
    uint32_t local_rank;      /* rank on this host + 1; 0: unknown */
    uint64_t clock_looked;    /* CLOCK_MONOTONIC when both clocks were last compared; 0: unknown */
    uint32_t clock_count;     /* entries of `clocks` (release) */
    uint32_t cuda_unrecorded; /* 1: CUPTI could not be used, or was detached from the process */
    struct spool_clock clocks[SPOOL_CLOCKS];
    uint64_t drained; /* chunks packed so far; only the launcher writes it, before they are SPOOL_DRAINED */
    /* A loss: calls in children of _Fork() and clone(), for which the C library calls no handler. The children share
     * this page. */
    uint64_t unannounced;
    uint64_t pid_namespace;  /* inode of /proc/PID/ns/pid, the namespace of `pid`; 0: unknown */
    int64_t monotonic_ahead; /* how far CLOCK_MONOTONIC is ahead of the host's, ns, by its time namespace */
    uint64_t by_launcher;    /* 1: the launcher wrote this file about the process: perf/cpu_records.c */
    uint64_t cpu_lost;       /* CPU samples and switches for which the kernel or the launcher had no space */
    uint32_t own_threads[SPOOL_OWN_THREADS]; /* ids of the agent's threads; 0: none */
    uint32_t world_size;                     /* processes of the job; 0: not known */
    uint32_t node_rank;                      /* number of this host in the job + 1; 0: unknown */
};

/* Behind the header, and of no use once the process has ended. */
struct spool_control {
    uint32_t recording; /* SPOOL_RECORDING or SPOOL_PAUSED; 0: not decided yet */
    uint32_t answered;  /* number of the request that the agent has taken, a futex */
    uint64_t switched;  /* CLOCK_REALTIME when `recording` changed, ns */
    /* What `gputrace start` and `gputrace stop` ask of the agent. They write the times and count `asked` and `woken` up,
     * with flock() on the file, which nobody else uses. The agent's thread waits for a change of `woken`, a futex. */
    uint32_t asked;
    uint32_t woken;
    uint64_t record_from; /* CLOCK_REALTIME, ns; 0: now; SPOOL_NEVER: recording stops */
    uint64_t record_to;   /* CLOCK_REALTIME, ns; 0: until it is asked to stop */
};
static_assert(sizeof(struct spool_header) % 8 == 0, "the control is aligned");
static_assert(sizeof(struct spool_header) + sizeof(struct spool_control) <= SPOOL_HEADER_BYTES,
              "there is space for it");

static inline struct spool_control *spool_control(struct spool_header *header)
{
    return (struct spool_control *)(header + 1);
}

enum { SPOOL_RECORDING = 1, SPOOL_PAUSED = 2 }; /* values of spool_control.recording */
#define SPOOL_NEVER UINT64_MAX
static_assert(sizeof(struct spool_header) <= SPOOL_HEADER_BYTES, "the header fits in its place");

#define SPOOL_CHUNK_MAGIC UINT32_C(0x4b4e4843) /* "CHNK" */

enum spool_chunk_type {
    SPOOL_FREE = 0, /* ready or left over: without data */
    SPOOL_CUPTI = 1,
    SPOOL_RECORDS = 2,
};

enum spool_chunk_state {
    SPOOL_READY = 0,
    SPOOL_IN_USE = 1,
    SPOOL_DONE = 2,
    SPOOL_DRAINED = 3, /* done and packed; only the launcher stores this */
};
#define SPOOL_NO_SEGMENT UINT32_MAX

struct spool_chunk {
    uint32_t magic;
    uint16_t type;     /* enum spool_chunk_type */
    uint16_t state;    /* enum spool_chunk_state */
    uint64_t bytes;    /* this header, the data and the space after it: leads to the next chunk */
    uint64_t used;     /* bytes of valid data after this header; see above */
    uint64_t sequence; /* order of handing out within the process, from 1 */
    uint64_t opened;   /* CLOCK_REALTIME when handed out, ns */
    uint32_t thread;   /* gettid() of the writer; for a CUPTI chunk, of the thread on which CUPTI asked for it */
    uint32_t segment;  /* for the writer; SPOOL_NO_SEGMENT: the writer will not touch the chunk again */
    uint64_t opened_monotonic; /* CLOCK_MONOTONIC when handed out, ns */
    uint64_t done_monotonic;   /* CLOCK_MONOTONIC when done, ns; 0: not done */
};
static_assert(sizeof(struct spool_chunk) == SPOOL_ALIGN, "chunk data is aligned");

/* A chunk in the packed file: this header, then `packed` bytes, then zeros up to the next multiple of SPOOL_ALIGN,
 * where the next chunk begins. A launcher that dies may leave an incomplete last chunk, which is still in the spool. */
#define SPOOL_PACKED_MAGIC UINT32_C(0x444b4350) /* "PCKD" */
enum spool_packing {
    SPOOL_PACKED_PLAIN = 0,   /* the chunk's bytes, unchanged */
    SPOOL_PACKED_COLUMNS = 1, /* columns of records' fields (trace/spool/packing.h), then LZ4 in its block format */
};
struct spool_packed {
    uint32_t magic;
    uint16_t packing;  /* enum spool_packing */
    uint16_t type;     /* type of the chunk: enum spool_chunk_type */
    uint32_t packed;   /* bytes after this header */
    uint32_t columned; /* SPOOL_PACKED_COLUMNS: bytes of the columns without LZ4 */
    uint64_t used;     /* bytes of data, as in the chunk; at most SPOOL_SEGMENT_BYTES */
    uint64_t sequence;
    uint64_t opened;
    uint64_t opened_monotonic;
    uint64_t done_monotonic;
    uint32_t thread;
    uint32_t blank;
};
static_assert(sizeof(struct spool_packed) == SPOOL_ALIGN, "as large as the chunk's header");

/* An entry of a file for all processes that have ended with few packed chunks: this head, then `header` bytes of LZ4,
 * which are struct spool_header, then zeros up to the next multiple of SPOOL_ALIGN, then `chunks` bytes of chunks as in
 * the packed file. When the entry is written, the process's own files are removed. A launcher that dies may leave an
 * incomplete entry, or an entry whose files still exist, which counts once. */
#define SPOOL_ENDED_FILE "ended" SPOOL_PACKED_SUFFIX
#define SPOOL_ENDED_MAGIC UINT32_C(0x44444e45) /* "ENDD" */
struct spool_ended {
    uint32_t magic;
    uint32_t header;
    uint64_t chunks;
    char name[48]; /* name of the spool, NUL-terminated */
};
static_assert(sizeof(struct spool_ended) == SPOOL_ALIGN, "what follows is aligned");

/* The head of an agent record. The fields of its type follow, then its texts. Sizes are multiples of 8. */
struct spool_record {
    uint16_t type;  /* enum spool_record_type */
    uint16_t flags; /* meaning depends on the type; 0 if it has no flags */
    uint32_t bytes; /* the whole record with padding */
    uint64_t time;  /* CLOCK_REALTIME, ns */
};

/* The launcher's note about the run, in the spool directory: one JSON object (cJSON), written before the
 * program starts. Keys: version, command (array), host, started (ns), output, options (object). */
#define SPOOL_SESSION_FILE "session.json"

/*
 * The lock shows whether the process that writes a spool still runs. It holds a lock on the file, which the kernel
 * releases when the process ends or becomes another program, however that happens. Processes in other pid namespaces
 * see the lock, too, although the pid in the file's name has no meaning there.
 */

/* Takes the lock, which belongs to the open file FD and lasts as long as any descriptor or mapping of it. A lock of the
 * process would end with the first descriptor that the program closes. Returns 0, or -1 with errno set: the file system
 * has no locks. */
static inline int spool_lock_take(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &lock);
}

/* Returns whether the lock is held. FD must come from another open(). */
static inline bool spool_lock_is_held(int fd)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* Returns whether the process that writes the spool FD, from an open() of the caller, still runs. The kernel may release
 * a lock after the end of its process: it counts no more when our pid namespace has no process with the spool's pid. */
static inline bool spool_is_written(int fd)
{
    if (!spool_lock_is_held(fd))
        return false;
    uint32_t pid = 0;
    uint64_t pid_namespace = 0;
    struct stat ours;
    bool is_ours = pread(fd, &pid, sizeof(pid), offsetof(struct spool_header, pid)) == sizeof(pid) && pid != 0 &&
                   pread(fd, &pid_namespace, sizeof(pid_namespace), offsetof(struct spool_header, pid_namespace)) ==
                       sizeof(pid_namespace) &&
                   stat("/proc/self/ns/pid", &ours) == 0 && ours.st_ino == pid_namespace;
    return !is_ours || kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

/*
 * How a process that cannot reach the spool directory gets its spool: it asks the launcher, which makes the file and
 * hands it over as a descriptor. Privileges may have been dropped, the directory may be hidden by a mount, the root may
 * be another or read-only, and programs close descriptors that they inherit; a socket in the abstract namespace can
 * still be reached.
 *
 * The launcher listens on a SOCK_SEQPACKET socket, and the setting `spool_server` holds "NAME:TOKEN": the socket's name
 * without its first byte, which is 0, and a secret, as any user can connect to such a socket. One message is one
 * request on a connection of its own. The launcher answers a request for a file with a struct spool_reply, and with the
 * file's descriptor (SCM_RIGHTS) when `failure` is 0. A report that the process is not recorded gets a reply too.
 */

#define SPOOL_SERVER_NAME_MAX 64  /* bytes with the NUL */
#define SPOOL_SERVER_TOKEN_MAX 40 /* bytes with the NUL */

#define SPOOL_NO_IMAGE UINT32_MAX

struct spool_request {
    char token[SPOOL_SERVER_TOKEN_MAX]; /* NUL-terminated, zeros after it */
    uint32_t pid;                       /* getpid() of the process: the file is named after it */
    uint32_t image;  /* in a report: the file that the process got and could not use, or SPOOL_NO_IMAGE */
    int32_t failure; /* 0: a request for a file; otherwise why the process is not recorded (spool_failure_words()) */
};

struct spool_reply {
    int32_t failure; /* errno; 0: the file is made, or the report is noted */
    uint32_t image;  /* the file's name is PID-IMAGE.spool */
};

#endif
