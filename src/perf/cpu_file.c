/* Writes the file of one process (struct cpu_file), in the format of a spool. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "perf/cpu_process.h"

/* The size of a chunk with its header. It divides that of a segment, so no chunk reaches over a segment's end. */
#define CHUNK_BYTES ((size_t)64 << 10)
#define HEADER_BYTES spool_aligned(sizeof(struct spool_header))

void cpu_file_init(struct cpu_file *file, int directory)
{
    *file = (struct cpu_file){.directory = directory};
    buffer_init_memory(&file->records);
    struct spool_header *header = &file->header;
    memcpy(header->magic, SPOOL_MAGIC, sizeof(header->magic));
    header->version = SPOOL_VERSION;
    header->header_bytes = (uint32_t)HEADER_BYTES;
    header->formatted = HEADER_BYTES;
    header->state = SPOOL_OPEN;
    header->by_launcher = 1;
}

static bool write_at(int fd, const void *bytes, size_t size, uint64_t offset)
{
    ssize_t written;
    do
        written = pwrite(fd, bytes, size, (off_t)offset);
    while (written < 0 && errno == EINTR);
    return written == (ssize_t)size;
}

/* Several images of one pid, and processes that have had it one after another, have a file each. */
static int make(struct cpu_file *file)
{
    int fd = -1;
    for (unsigned image = 0; fd < 0 && image < 100000; image++) {
        snprintf(file->name, sizeof(file->name), "%u-%u" SPOOL_CPU_SUFFIX, file->header.pid, image);
        fd = openat(file->directory, file->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        file->name[0] = '\0';
    return fd;
}

/* The chunk first: what the header does not announce is not read. */
static bool append(struct cpu_file *file, int fd, const char *records, size_t size)
{
    struct spool_header *header = &file->header;
    struct spool_chunk chunk = {.magic = SPOOL_CHUNK_MAGIC,
                                .type = SPOOL_RECORDS,
                                .state = SPOOL_DONE,
                                .bytes = spool_aligned(sizeof(chunk) + size),
                                .used = size,
                                .sequence = file->sequence + 1,
                                .segment = SPOOL_NO_SEGMENT};
    uint64_t at = header->formatted;
    static const uint8_t zeros[SPOOL_ALIGN];
    size_t rest = (size_t)(chunk.bytes - sizeof(chunk) - size);
    if (!write_at(fd, &chunk, sizeof(chunk), at) || !write_at(fd, records, size, at + sizeof(chunk)) ||
        (rest > 0 && !write_at(fd, zeros, rest, at + sizeof(chunk) + size)))
        return false;
    file->sequence++;
    header->formatted += chunk.bytes;
    return true;
}

void cpu_file_flush(struct cpu_file *file)
{
    size_t size = file->records.length;
    if (file->wanting == 0 || file->failed)
        return;
    int fd = *file->name ? openat(file->directory, file->name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW) : make(file);
    bool whole = fd >= 0 && (size == 0 || append(file, fd, file->records.data, size)) &&
                 write_at(fd, &file->header, sizeof(file->header), 0);
    if (!whole) {
        warning("what the processors did for process %u cannot be recorded any more: %s", file->header.pid,
                strerror(errno));
        file->failed = true;
    }
    if (fd >= 0)
        close(fd);
    file->records.length = 0;
    file->wanting = 0;
}

void cpu_file_add(struct cpu_file *file, struct spool_record *record, size_t size, const void *text, uint32_t length,
                  size_t space)
{
    static const uint8_t zeros[8];
    uint32_t bytes = (uint32_t)size;
    if (text && length > space)
        bytes += (uint32_t)(length - space + 7) & ~UINT32_C(7);
    if (file->failed) {
        file->dropped++;
        return;
    }
    if (file->records.length + bytes > CHUNK_BYTES - sizeof(struct spool_chunk))
        cpu_file_flush(file);
    if (file->wanting == 0)
        file->wanting = clock_monotonic();
    record->bytes = bytes;
    size_t kept = text ? size - space : size;
    buffer_bytes(&file->records, record, kept);
    if (text)
        buffer_bytes(&file->records, text, length);
    for (size_t rest = bytes - kept - (text ? length : 0); rest > 0;) {
        size_t part = rest < sizeof(zeros) ? rest : sizeof(zeros);
        buffer_bytes(&file->records, zeros, part);
        rest -= part;
    }
}

void cpu_file_close(struct cpu_file *file, uint64_t lost)
{
    file->header.state = SPOOL_FINISHED;
    file->header.cpu_lost = lost + file->dropped;
    if (*file->name || file->wanting != 0) {
        file->wanting = file->wanting ? file->wanting : 1;
        file->failed = file->failed && !*file->name;
        cpu_file_flush(file);
    }
    buffer_release(&file->records);
}
