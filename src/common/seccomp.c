/* Reads the mode of seccomp and the number of filters from the text of /proc/thread-self/status. */
#include "common/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The number after NAME in TEXT; OTHERWISE where it does not occur. */
static int64_t number_after(const char *text, const char *name, int64_t otherwise)
{
    const char *at = strstr(text, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : otherwise;
}

int64_t seccomp_filters(void)
{
    char text[8192]; /* of the lines before, only the list of groups may be long */
    int saved = errno;
    int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    bool is_whole = got > 0 && got < (ssize_t)sizeof(text) - 1; /* a kernel without filters has no line */
    int64_t mode = number_after(text, "\nSeccomp:", is_whole ? 0 : -1);
    errno = saved;
    return mode == 0 ? 0 : number_after(text, "\nSeccomp_filters:", -1);
}
