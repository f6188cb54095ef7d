/* Becomes another program, with an environment that has nothing but what the loader needs. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char libraries[4096];
    const char *path = getenv("LD_LIBRARY_PATH");
    snprintf(libraries, sizeof(libraries), "LD_LIBRARY_PATH=%s", path ? path : "");
    char *environment[] = {libraries, NULL};
    if (argc < 2)
        return 8;
    execve(argv[1], argv + 1, environment);
    return 7;
}
