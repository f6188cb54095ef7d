#include "tests/fuzz/tool/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "common/text.h"

static char directory[PATH_MAX];
static pid_t maker;

static void remove_all(void)
{
    DIR *files = getpid() == maker ? opendir(directory) : NULL;
    if (!files)
        return;
    for (struct dirent *file; (file = readdir(files));)
        unlinkat(dirfd(files), file->d_name, 0);
    closedir(files);
    rmdir(directory);
}

const char *fuzz_directory(void)
{
    if (*directory)
        return directory;
    const char *parent = getenv("TMPDIR");
    snprintf(directory, sizeof(directory), "%s/gputrace-fuzz.XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(directory)) {
        perror(directory);
        abort();
    }
    maker = getpid();
    atexit(remove_all);
    return directory;
}

const char *fuzz_path(const char *name)
{
    static char paths[16][PATH_MAX + 64];
    static unsigned next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof(*paths), "%s/%s", fuzz_directory(), name);
    return path;
}

const char *fuzz_file(const char *name, const void *bytes, size_t size)
{
    const char *path = fuzz_path(name);
    unlink(path); /* the last one may still be mapped */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || close(fd) != 0) {
        perror(path);
        abort();
    }
    return path;
}

static char *read_all(const char *path, size_t *size)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        return NULL;
    char *text = malloc((size_t)status.st_size + 1);
    ssize_t got = text ? read(fd, text, (size_t)status.st_size) : -1;
    close(fd);
    if (got != status.st_size) {
        free(text);
        return NULL;
    }
    *size = (size_t)got;
    return text;
}

static int is_utf8(const char *text, size_t size)
{
    for (size_t at = 0, step; at < size; at += step)
        if ((step = utf8_size(text + at, size - at)) == 0)
            return 0;
    return 1;
}

int fuzz_is_json(const char *path)
{
    size_t size = 0;
    char *text = read_all(path, &size);
    const char *end = text;
    cJSON *json = text ? cJSON_ParseWithLengthOpts(text, size, &end, 0) : NULL;
    int sound = json && is_utf8(text, size);
    for (; sound && end < text + size; end++)
        sound = *end == '\n';
    cJSON_Delete(json);
    free(text);
    return sound;
}
