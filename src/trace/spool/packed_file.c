#include "trace/spool/packed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "trace/spool/packing.h"
#include "trace/spool/spool_parts.h"

int packed_file_name(const char *spool, char *name, size_t room)
{
    size_t stem = strlen(spool), suffix = strlen(SPOOL_SUFFIX);
    if (stem <= suffix || strcmp(spool + stem - suffix, SPOOL_SUFFIX) != 0)
        return -1;
    int length = snprintf(name, room, "%.*s" SPOOL_PACKED_SUFFIX, (int)(stem - suffix), spool);
    return length < 0 || (size_t)length >= room ? -1 : 0;
}

/* Returns 0; 1 when there is nothing in it; -1 after error(). */
static int look_at_file(struct spool_file *file, int fd, const char *path, size_t *size)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return error("cannot examine '%s': %m", path);
    if (!S_ISREG(status.st_mode)) {
        warning("'%s' is not a regular file and is left out", path);
        return 1;
    }
    *size = (size_t)status.st_size;
    if (*size == 0)
        return 1;
    file->packed.path = strdup(path);
    return file->packed.path ? 0 : error_no_memory("a spool");
}

static int add_part(struct spool_file *file, const struct spool_packed *packed, uint64_t data)
{
    struct spool_part *part = array_push(&file->parts);
    if (!part)
        return error_no_memory("the list of chunks");
    *part = (struct spool_part){
        .source = &file->packed,
        .offset = data,
        .size = (size_t)packed->used,
        .sequence = packed->sequence,
        .opened_monotonic = packed->opened_monotonic,
        .done_monotonic = packed->done_monotonic,
        .thread = packed->thread,
        .type = packed->type,
        .state = SPOOL_DONE,
        .drained = true,
        .packed = packed->packing == SPOOL_PACKED_COLUMNS ? packed->packed : 0,
        .columned = packed->columned,
    };
    return 0;
}

/* One that is cut, or is none, ends the list. */
int packed_parts_add(struct spool_file *file, int fd, const char *path, uint64_t from, uint64_t end)
{
    struct spool_packed packed;
    for (uint64_t at = from; end - at >= sizeof(packed);) {
        ssize_t got = pread(fd, &packed, sizeof(packed), (off_t)at);
        if (got < 0)
            return error("cannot read '%s': %m", path);
        if (got != (ssize_t)sizeof(packed) || !spool_packed_sound(&packed))
            return 0;
        uint64_t data = at + sizeof(packed);
        if (packed.packed > end - data)
            return 0;
        if (add_part(file, &packed, data) != 0)
            return -1;
        uint64_t whole = ((uint64_t)packed.packed + SPOOL_ALIGN - 1) & ~(uint64_t)(SPOOL_ALIGN - 1);
        if (whole > end - data)
            return 0;
        at = data + whole;
    }
    return 0;
}

int packed_file_add(struct spool_file *file, const char *spool)
{
    char path[PATH_MAX];
    if (packed_file_name(spool, path, sizeof(path)) != 0)
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ENOENT ? 0 : error("cannot open '%s': %m", path);
    size_t size = 0;
    int result = look_at_file(file, fd, path, &size);
    if (result == 0)
        result = packed_parts_add(file, fd, path, 0, size);
    close(fd);
    return result < 0 ? -1 : 0;
}
