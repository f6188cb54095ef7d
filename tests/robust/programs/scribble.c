/*
 * scribble: a thousand NVTX ranges, then a child that writes anything anywhere into this process's spool, behind its
 * header, and lives for a few seconds: longer than this process, so that the spool changes while it is read.
 */
#include <nvtx3/nvToolsExt.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RANGES 1000
#define HEADER 65536
#define LIFE_S 3

/* The name of the spool, by what is mapped. */
static int find_spool(char *name, size_t space)
{
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "re");
    int found = 0;
    while (maps && !found && fgets(line, sizeof(line), maps)) {
        line[strcspn(line, "\n")] = '\0';
        const char *path = strchr(line, '/'), *end = strstr(line, ".spool");
        found = path && end && end[strlen(".spool")] == '\0';
        if (found)
            snprintf(name, space, "%s", path);
    }
    if (maps)
        fclose(maps);
    return found ? 0 : -1;
}

static int scribble(const char *name)
{
    struct stat status;
    unsigned seed = 1;
    int fd = open(name, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        return 1;
    uint8_t *map = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    size_t words = ((size_t)status.st_size - HEADER) / 8;
    if (map == MAP_FAILED)
        return 1;
    for (time_t end = time(NULL) + LIFE_S; time(NULL) < end;)
        for (int i = 0; i < 100000; i++) {
            uint64_t volatile *word = (uint64_t *)(void *)(map + HEADER) + (size_t)rand_r(&seed) % words;
            uint64_t right = *word;
            *word = (uint64_t)rand_r(&seed) << (unsigned)(rand_r(&seed) % 48);
            *word = right;
        }
    return 0;
}

int main(void)
{
    char name[4096];
    for (int i = 0; i < RANGES; i++) {
        nvtxRangePushA("range");
        nvtxRangePop();
    }
    if (find_spool(name, sizeof(name)) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0)
        _exit(scribble(name));
    return child < 0;
}
