/*
 * The spool file: opens and locks it, maps its header, and makes it grow by segments whose disk space is allocated
 * first, so that a store into the mapping cannot fail. Pages that are lost all the same are replaced with memory
 * (spool_file_rescue()).
 */
#include "agent/spool/spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/spool/process.h"
#include "agent/spool/segments.h"
#include "agent/spool/spool_place.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/spool.h"

static struct spool_file {
    struct descriptor descriptor;
    struct descriptor own; /* descriptor for the thread with its own descriptors */
    bool open;
    bool removed; /* a thread that wanted the file to grow found it removed */
    uint64_t size;
    struct spool_header *header;
    struct spool_chunk *first_rest; /* rest of the first segment while it has no disk space; NULL: it has */
    bool header_orphaned;           /* the header is ordinary memory, not part of the file */
    struct spool_header fallback;   /* takes the place of the header while no file is open */
    pthread_mutex_t growing;
} file = {.descriptor.fd = -1, .header = &file.fallback, .growing = PTHREAD_MUTEX_INITIALIZER};

/* Whether the file may grow to END: beyond the program's limit of file sizes the process would get SIGXFSZ, and the
 * disk must have space for BYTES. Returns 0, or an errno. */
static int may_grow(int fd, uint64_t end, uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur)
        return EFBIG;
    return disk_has_space(fd, bytes) ? 0 : ENOSPC;
}

/* Writes zeros, which allocates disk space and pages in memory. Returns 0, or an errno. */
static int write_zeros(int fd, uint64_t offset, uint64_t bytes)
{
    static const char zeros[16384];
    for (uint64_t at = offset, end = offset + bytes; at < end;) {
        uint64_t left = end - at;
        ssize_t written = pwrite(fd, zeros, left < sizeof(zeros) ? left : sizeof(zeros), (off_t)at);
        if (written <= 0)
            return written < 0 ? errno : ENOSPC;
        at += (uint64_t)written;
    }
    return 0;
}

/* Allocates disk space, by writing zeros where a sandbox does not allow posix_fallocate(). Returns 0, or an errno. */
static int allocate(int fd, uint64_t offset, uint64_t bytes)
{
    int failure = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
    return failure != EPERM && failure != ENOSYS && failure != EACCES ? failure : write_zeros(fd, offset, bytes);
}

static uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

static __thread bool has_own_descriptors;

int spool_file_own_descriptors(void)
{
    if (descriptor_own_table() != 0)
        return -1;
    file.own = file.descriptor;
    has_own_descriptors = true;
    return descriptor_use(&file.own) < 0 ? -1 : 0;
}

/* Returns the file's descriptor for this thread, or -1 with errno set. */
static int use_file(void)
{
    if (has_own_descriptors)
        return descriptor_use(&file.own);
    errno = EBADF;
    return descriptor_is_ours(&file.descriptor) ? file.descriptor.fd : -1;
}

static bool is_file(void)
{
    return descriptor_is_ours(has_own_descriptors ? &file.own : &file.descriptor);
}

/* Makes pages of the mapping writable without a fault. The file system may need space for metadata, so this can fail.
 * Returns 0, or an errno. */
static int touch(int fd, char *base, uint64_t offset, uint64_t bytes)
{
    if (madvise(base, bytes, MADV_POPULATE_WRITE) == 0)
        return 0;
    if (errno == EFAULT || errno == ENOMEM) { /* a store would have raised SIGBUS; a system call returns why */
        for (uint64_t at = 0; at < bytes; at += page_bytes())
            if (pwrite(fd, "", 1, (off_t)(offset + at)) < 0)
                return errno;
        return madvise(base, bytes, MADV_POPULATE_WRITE) == 0 ? 0 : ENOSPC;
    }
    for (uint64_t at = 0; at < bytes; at += page_bytes()) /* before Linux 5.14, and in sandboxes */
        *(volatile char *)(base + at) = 0;
    return 0;
}

/* Maps BYTES at OFFSET and touches the first READY of them. Returns the mapping, or NULL with errno set. */
static void *map_touched(int fd, uint64_t offset, uint64_t bytes, uint64_t ready)
{
    char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    if (base == MAP_FAILED)
        return NULL;
    /* If the program closed the descriptor meanwhile, the pages may be another file's. */
    int failure = is_file() ? touch(fd, base, offset, ready) : EBADF;
    if (!failure)
        return base;
    munmap(base, bytes);
    errno = failure;
    return NULL;
}

/* Returns the file's descriptor for this thread if the file may grow to END, BYTES of it new, or -1 with errno set. */
static int file_to_grow(uint64_t end, uint64_t bytes)
{
    int fd = use_file();
    int failure = fd < 0 ? errno : may_grow(fd, end, bytes);
    if (!failure && !is_file()) /* if the program closed the descriptor meanwhile, another file would grow */
        failure = EBADF;
    errno = failure ? failure : errno;
    return failure ? -1 : fd;
}

/* Makes the file grow by BYTES at OFFSET, its end, maps them, and allocates and touches the first READY of them.
 * Returns the mapping, or NULL with errno set and the file as before. */
static void *map_more(uint64_t offset, uint64_t bytes, uint64_t ready)
{
    int fd = file_to_grow(offset + bytes, bytes);
    bool small = ready < bytes; /* writing a few pages is quicker than the kernel's readahead */
    int failure = fd < 0 ? errno : small ? write_zeros(fd, offset, ready) : allocate(fd, offset, ready);
    if (!failure && small && ftruncate(fd, (off_t)(offset + bytes)) != 0) /* some sandboxes do not offer ftruncate() */
        failure = write_zeros(fd, offset + bytes - 1, 1);
    char *base = failure ? NULL : map_touched(fd, offset, bytes, ready);
    if (base)
        return base;
    failure = failure ? failure : errno;
    if (fd >= 0 && is_file() && ftruncate(fd, (off_t)offset) != 0)
        failure = errno; /* the allocated space stays, which costs only disk space */
    errno = failure;
    return NULL;
}

static struct spool_header *map_header(const char *directory)
{
    if (spool_place_make(directory, &file.descriptor) != 0)
        return NULL;
    /* The lock belongs to an open file description that only the header's mapping will keep. A forked child would share
     * the other one, which must do if the path cannot be opened from here. */
    int lock = open(file.descriptor.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (spool_lock_take(lock >= 0 ? lock : file.descriptor.fd) != 0)
        verbose("process %d cannot lock its spool, and counts as ended (%m)", (int)getpid());
    struct spool_header *header =
        map_more(0, SPOOL_HEADER_BYTES, whole_pages(sizeof(*header) + sizeof(struct spool_control)));
    int failure = errno;
    /* Maps the header by the locked open file description, so that the lock stays as long as the mapping. */
    void *again = MAP_FAILED;
    if (header && lock >= 0)
        again = mmap(NULL, SPOOL_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, lock, 0);
    if (again != MAP_FAILED) {
        munmap(header, SPOOL_HEADER_BYTES);
        header = again;
    }
    if (lock >= 0)
        close(lock);
    errno = failure;
    if (!header)
        spool_place_remove(&file.descriptor);
    return header;
}

struct spool_header *spool_file_open(const char *directory, uint64_t trace_bits)
{
    struct spool_header *header = map_header(directory);
    if (!header) {
        spool_place_note_unrecorded(directory, errno);
        return NULL;
    }
    file.size = SPOOL_HEADER_BYTES;
    file.header = header;
    file.open = true; /* set before anything is written to the mapping: the SIGBUS handler reads this */
    process_facts_fill(header, trace_bits);
    __atomic_store_n(&header->formatted, SPOOL_HEADER_BYTES, __ATOMIC_RELEASE);
    return header;
}

void spool_file_abandon(const char *directory)
{
    int failure = errno;
    spool_place_remove(&file.descriptor);
    munmap(file.header, SPOOL_HEADER_BYTES);
    file.header = &file.fallback;
    file.open = false;
    spool_place_note_unrecorded(directory, failure);
}

struct spool_header *spool_file_header(void)
{
    return file.header;
}

bool spool_file_is_removed(void)
{
    if (file.open && descriptor_is_removed(has_own_descriptors ? &file.own : &file.descriptor))
        __atomic_store_n(&file.removed, true, __ATOMIC_RELAXED);
    return __atomic_load_n(&file.removed, __ATOMIC_RELAXED);
}

/* Adds a segment, and prepares the first READY bytes of it. */
static struct spool_chunk *add_segment(uint64_t ready)
{
    errno = ENOMEM;
    char *base = file.open && segments_have_space() ? map_more(file.size, SPOOL_SEGMENT_BYTES, ready) : NULL;
    if (!base)
        return NULL;
    struct spool_chunk *chunk = segments_add(base, file.size);
    file.size += SPOOL_SEGMENT_BYTES;
    __atomic_store_n(&file.header->formatted, file.size, __ATOMIC_RELEASE);
    return chunk;
}

/* Prepares the rest of the first segment. The page of its header was prepared with the bytes before it. */
static struct spool_chunk *ready_first_rest(void)
{
    struct spool_chunk *rest = file.first_rest;
    uint64_t before = whole_pages(sizeof(*rest)), bytes = SPOOL_SEGMENT_BYTES - SPOOL_FILE_FIRST_BYTES - before;
    uint64_t offset = SPOOL_HEADER_BYTES + SPOOL_FILE_FIRST_BYTES + before;
    int fd = file_to_grow(offset + bytes, bytes);
    int failure = fd < 0 ? errno : allocate(fd, offset, bytes);
    if (!failure)
        failure = is_file() ? touch(fd, (char *)rest + before, offset, bytes) : EBADF;
    errno = failure;
    file.first_rest = failure ? rest : NULL;
    return failure ? NULL : rest;
}

struct spool_chunk *spool_file_begin(void)
{
    struct spool_chunk *chunk = add_segment(SPOOL_FILE_FIRST_BYTES + whole_pages(sizeof(*chunk)));
    if (!chunk)
        return NULL;
    segment_set_purpose(chunk, SPOOL_RECORDS);
    file.first_rest = segment_cut(chunk, SPOOL_FILE_FIRST_BYTES);
    return chunk;
}

struct spool_chunk *spool_file_grow(void)
{
    struct spool_chunk *chunk = NULL;
    pthread_mutex_lock(&file.growing);
    if (spool_file_is_removed())
        errno = ESTALE;
    else
        chunk = file.open && file.first_rest ? ready_first_rest() : add_segment(SPOOL_SEGMENT_BYTES);
    pthread_mutex_unlock(&file.growing);
    return chunk;
}

void spool_file_release(void)
{
    pthread_mutex_lock(&file.growing); /* keeps other threads from adding a segment */
    int fd = file.open ? use_file() : -1;
    for (uint64_t at = SPOOL_HEADER_BYTES; fd >= 0 && at < file.size; at += SPOOL_SEGMENT_BYTES)
        if (!segments_any_at(at))
            fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)SPOOL_SEGMENT_BYTES);
    pthread_mutex_unlock(&file.growing);
}

bool spool_file_was_closed(void)
{
    return file.open && !descriptor_is_ours(&file.descriptor);
}

/* Replaces the mapping at BASE by a copy in ordinary memory. If WHOLE, all of the mapping can be read. Otherwise a
 * system call copies what can be read: a page whose part of the file is gone raises SIGBUS on a load, but not there.
 * Returns 0 or -1. */
static int copy_private(char *base, uint64_t bytes, bool whole)
{
    pid_t process = getpid();
    size_t page = page_bytes();
    char *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return -1;
    if (whole)
        memcpy(copy, base, bytes);
    for (uint64_t at = 0; at < bytes && !whole; at += page) {
        struct iovec from = {base + at, page}, to = {copy + at, page};
        syscall(SYS_process_vm_readv, process, &to, 1, &from, 1, 0);
    }
    if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, base) != MAP_FAILED)
        return 0;
    munmap(copy, bytes);
    return -1;
}

/* Writes a replaced segment to the file, or counts its missing records instead of the one that spool_file_rescue()
 * counted. */
static void save_orphaned(const char *base, uint64_t offset)
{
    uint64_t *no_space = &file.header->losses.no_space;
    if (((const struct spool_chunk *)(const void *)base)->magic != SPOOL_CHUNK_MAGIC)
        return; /* the file was truncated: the segment's contents are gone */
    int fd = use_file();
    bool may = fd >= 0 && may_grow(fd, offset + SPOOL_SEGMENT_BYTES, 0) == 0;
    bool is_there = may && orphaned_segment_write(fd, base, offset) == 0;
    int64_t missing = is_there ? 0 : orphaned_segment_missing(fd, base, offset, file.header->record_bytes);
    if (missing < 0)
        return; /* the one counted record stands for all */
    if (__atomic_add_fetch(no_space, (uint64_t)missing, __ATOMIC_RELAXED) > 0)
        __atomic_sub_fetch(no_space, 1, __ATOMIC_RELAXED);
}

int spool_file_rescue(const void *address)
{
    char *header = (char *)file.header;
    if (!file.open)
        return -1;
    if ((uintptr_t)address - (uintptr_t)header < SPOOL_HEADER_BYTES) {
        file.header_orphaned = true;
        return copy_private(header, SPOOL_HEADER_BYTES, false);
    }
    char *base = segments_find(address);
    if (!base || copy_private(base, SPOOL_SEGMENT_BYTES, false) != 0)
        return -1;
    segment_set_orphaned(base, save_orphaned);
    return 0;
}

void spool_file_save(void)
{
    if (file.open)
        segments_save();
}

void spool_file_save_header(void)
{
    if (!file.open || !file.header_orphaned || memcmp(file.header->magic, SPOOL_MAGIC, sizeof(file.header->magic)) != 0)
        return;
    int fd = use_file();
    struct timespec limit = {.tv_sec = (time_t)(clock_now() / NS_PER_S) + 1};
    /* The mutex may never be free: a signal handler that ends the program may have interrupted this thread while the
     * file grew. */
    if (fd < 0 || may_grow(fd, SPOOL_HEADER_BYTES, 0) != 0 || pthread_mutex_timedlock(&file.growing, &limit) != 0)
        return;
    /* The file may have grown while the header was copied. */
    __atomic_store_n(&file.header->formatted, file.size, __ATOMIC_RELEASE);
    /* Leaves the members from `drained` on alone, which the launcher writes. */
    ssize_t written = pwrite(fd, file.header, offsetof(struct spool_header, drained), 0);
    (void)written; /* if this fails, the file's header stays as it was */
    pthread_mutex_unlock(&file.growing);
}

static void make_private(void *base, uint64_t bytes, uint64_t offset)
{
    if (!descriptor_is_ours(&file.descriptor) || mmap(base, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
                                                      file.descriptor.fd, (off_t)offset) != (void *)base)
        copy_private(base, bytes, true);
}

void spool_file_atfork_child(void)
{
    if (!file.open)
        return;
    segments_atfork_child(make_private);
    make_private(file.header, SPOOL_HEADER_BYTES, 0);
    descriptor_close(&file.descriptor);
    file.open = file.header_orphaned = file.removed = false;
    file.header = &file.fallback;
    file.first_rest = NULL;
    pthread_mutex_init(&file.growing, NULL);
}
