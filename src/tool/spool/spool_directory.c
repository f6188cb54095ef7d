#include "tool/spool/spool_directory.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "wire/spool.h"

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), size = strlen(suffix);
    return length > size && strcmp(name + length - size, suffix) == 0;
}

/* A link whose target says why there is no spool. */
static void note_unrecorded(struct spool_directory *directory, const char *path, const char *name)
{
    char *link = NULL, why[128];
    if (asprintf(&link, "%s/%s", path, name) < 0)
        return;
    ssize_t length = readlink(link, why, sizeof(why));
    free(link);
    directory->unrecorded++;
    for (ssize_t i = 0; i < length; i++) /* for a terminal */
        why[i] = why[i] >= ' ' && why[i] != 0x7f ? why[i] : '?';
    if (length > 0)
        warning("process %.*s could not be recorded: %.*s", (int)strcspn(name, "-"), name, (int)length, why);
}

static int add(struct spool_directory *directory, const char *path, const char *name)
{
    char **grown = realloc(directory->paths, (directory->count + 1) * sizeof(*grown));
    if (!grown)
        return error_no_memory("the list of spool files");
    directory->paths = grown;
    if (asprintf(&grown[directory->count], "%s/%s", path, name) < 0)
        return error_no_memory("the list of spool files");
    directory->count++;
    return 0;
}

static int by_pid_and_image(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
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
        if (ends_with(entry->d_name, SPOOL_SUFFIX))
            result = add(directory, path, entry->d_name);
        else if (ends_with(entry->d_name, SPOOL_UNRECORDED_SUFFIX))
            note_unrecorded(directory, path, entry->d_name);
    if (result == 0 && errno != 0)
        result = error("cannot read the spool directory '%s': %m", path);
    closedir(stream);
    if (directory->count > 1)
        qsort(directory->paths, directory->count, sizeof(*directory->paths), by_pid_and_image);
    return result;
}

void spool_directory_release(struct spool_directory *directory)
{
    for (size_t i = 0; i < directory->count; i++)
        free(directory->paths[i]);
    free(directory->paths);
    *directory = (struct spool_directory){0};
}
