/*
 * The spools of a directory, by name: files, and entries in the file of ended processes (common/spool.h). A run may
 * have many thousands of ended processes, each with little data. Nothing in the file is trusted.
 */
#include "trace/spool/spool_directory.h"

#include <dirent.h>
#include <errno.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/text.h"

#define HEADER_PACKED_MAX LZ4_COMPRESSBOUND(sizeof(struct spool_header))
static_assert(sizeof(struct spool_ended) + HEADER_PACKED_MAX + SPOOL_ALIGN <= ENDED_HEAD_MAX, "there is space for it");

size_t ended_head_pack(uint8_t head[ENDED_HEAD_MAX], const char *name, const struct spool_header *header,
                       uint64_t chunks)
{
    struct spool_ended ended = {.magic = SPOOL_ENDED_MAGIC, .chunks = chunks};
    if (strlen(name) >= sizeof(ended.name))
        return 0;
    strcpy(ended.name, name);
    memset(head, 0, ENDED_HEAD_MAX);
    int packed = LZ4_compress_default((const char *)header, (char *)head + sizeof(ended), (int)sizeof(*header),
                                      (int)HEADER_PACKED_MAX);
    ended.header = (uint32_t)packed;
    memcpy(head, &ended, sizeof(ended));
    return packed > 0 ? (size_t)spool_aligned(sizeof(ended) + (uint64_t)packed) : 0;
}

static bool read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
    return pread(fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

int ended_entry_read(struct ended_entry *entry, int fd, uint64_t offset, uint64_t size)
{
    struct spool_ended *head = &entry->head;
    if (offset > size || size - offset < sizeof(*head) || !read_at(fd, head, sizeof(*head), offset))
        return -1;
    uint64_t left = size - offset - sizeof(*head), header = spool_aligned(head->header);
    if (head->magic != SPOOL_ENDED_MAGIC || head->header > HEADER_PACKED_MAX || header > left ||
        head->chunks % SPOOL_ALIGN != 0 || head->chunks > left - header)
        return -1;
    head->name[sizeof(head->name) - 1] = '\0';
    entry->chunks = offset + sizeof(*head) + header;
    entry->end = entry->chunks + head->chunks;
    return 0;
}

int ended_header_read(struct spool_header *header, const struct ended_entry *entry, int fd, uint64_t offset)
{
    char packed[HEADER_PACKED_MAX];
    if (!read_at(fd, packed, entry->head.header, offset + sizeof(entry->head)))
        return -1;
    int size = LZ4_decompress_safe(packed, (char *)header, (int)entry->head.header, (int)sizeof(*header));
    return size == (int)sizeof(*header) ? 0 : -1;
}

bool spool_directory_is(const char *path)
{
    DIR *stream = opendir(path);
    const struct dirent *entry;
    bool found = false;
    while (stream && !found && (entry = readdir(stream))) {
        const char *name = entry->d_name;
        found = text_ends_with(name, SPOOL_SUFFIX) || text_ends_with(name, SPOOL_CPU_SUFFIX) ||
                text_ends_with(name, SPOOL_UNRECORDED_SUFFIX) || strcmp(name, SPOOL_ENDED_FILE) == 0 ||
                strcmp(name, SPOOL_SESSION_FILE) == 0;
    }
    if (stream)
        closedir(stream);
    return found;
}

/* Counts a process without a spool, and prints why: a link has the reason as its target. */
static void note_unrecorded(struct spool_directory *directory, const char *path, const char *name)
{
    char *link = NULL, why[128];
    if (asprintf(&link, "%s/%s", path, name) < 0)
        return;
    ssize_t length = readlink(link, why, sizeof(why));
    free(link);
    directory->unrecorded++;
    for (ssize_t i = 0; i < length; i++) /* the reason must not control the terminal */
        why[i] = why[i] >= ' ' && why[i] != 0x7f ? why[i] : '?';
    if (length > 0)
        warning("process %.*s could not be recorded: %.*s", (int)strcspn(name, "-"), name, (int)length, why);
}

static int add(struct spool_directory *directory, const char *path, const char *name, uint64_t ended)
{
    if (directory->count == directory->capacity) {
        size_t capacity = directory->capacity ? 2 * directory->capacity : 16;
        struct spool_place *grown = realloc(directory->places, capacity * sizeof(*grown));
        if (!grown)
            return error_no_memory("the list of spool files");
        directory->places = grown;
        directory->capacity = capacity;
    }
    struct spool_place *place = &directory->places[directory->count];
    if (asprintf(&place->path, "%s/%s", path, name) < 0)
        return error_no_memory("the list of spool files");
    place->ended = ended;
    directory->count++;
    return 0;
}

static int by_pid_and_image(const void *a, const void *b)
{
    const struct spool_place *left = a, *right = b;
    bool left_cpu = text_ends_with(left->path, SPOOL_CPU_SUFFIX),
         right_cpu = text_ends_with(right->path, SPOOL_CPU_SUFFIX);
    if (left_cpu != right_cpu)
        return left_cpu ? 1 : -1;
    int order = strverscmp(left->path, right->path);
    return order != 0 ? order : left->ended - 1 < right->ended - 1 ? -1 : left->ended != right->ended;
}

static int add_ended(struct spool_directory *directory, const char *path)
{
    if (asprintf(&directory->ended_path, "%s/" SPOOL_ENDED_FILE, path) < 0) {
        directory->ended_path = NULL;
        return error_no_memory("the list of spool files");
    }
    int fd = open(directory->ended_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ENOENT ? 0 : error("cannot open '%s': %m", directory->ended_path);
    /* The last entry may be incomplete: it is left out. */
    struct stat status;
    struct ended_entry entry;
    int result = 0;
    uint64_t size = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
    for (uint64_t at = 0; result == 0 && ended_entry_read(&entry, fd, at, size) == 0; at = entry.end)
        result = add(directory, path, entry.head.name, at + 1);
    close(fd);
    return result;
}

int spool_directory_read(struct spool_directory *directory, const char *path)
{
    *directory = (struct spool_directory){0};
    DIR *stream = opendir(path);
    if (!stream)
        return error("cannot read the spool directory '%s': %m", path);
    int result = 0;
    struct dirent *entry;
    while (result == 0 && (errno = 0, entry = readdir(stream)) != NULL)
        if (text_ends_with(entry->d_name, SPOOL_SUFFIX) || text_ends_with(entry->d_name, SPOOL_CPU_SUFFIX))
            result = add(directory, path, entry->d_name, 0);
        else if (text_ends_with(entry->d_name, SPOOL_UNRECORDED_SUFFIX))
            note_unrecorded(directory, path, entry->d_name);
    if (result == 0 && errno != 0)
        result = error("cannot read the spool directory '%s': %m", path);
    closedir(stream);
    result = result ?: add_ended(directory, path);
    if (directory->count > 1)
        qsort(directory->places, directory->count, sizeof(*directory->places), by_pid_and_image);
    return result;
}

void spool_directory_release(struct spool_directory *directory)
{
    for (size_t i = 0; i < directory->count; i++)
        free(directory->places[i].path);
    free(directory->places);
    free(directory->ended_path);
    *directory = (struct spool_directory){0};
}
