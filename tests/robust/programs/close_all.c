/* Closes all descriptors but the standard ones, before NVTX and CUDA begin (`first`), or afterwards, again and again
 * (`later`), or the standard ones too (`all`); what the program then writes into files of its own is what is in them,
 * though much is recorded meanwhile. */
#include "gpu.h"

#include <fcntl.h>
#include <unistd.h>

#define FILES 40
#define TEXT "this file is the program's\n"

static int files[FILES];

static void close_from(int first)
{
    for (int fd = first; fd < 1024; fd++)
        close(fd);
}

static void open_files(void)
{
    for (int i = 0; i < FILES; i++) {
        char name[32];
        snprintf(name, sizeof(name), "file%d", i);
        files[i] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (files[i] < 0 || write(files[i], TEXT, strlen(TEXT)) < 0)
            _exit(6);
        if (i % 4 == 0 && dup2(files[i], 500 + i) < 0) /* high numbers too */
            _exit(5);
    }
}

static int check_files(void)
{
    char text[2 * sizeof(TEXT)];
    for (int i = 0; i < FILES; i++) {
        ssize_t got = pread(files[i], text, sizeof(text), 0);
        if (got != (ssize_t)strlen(TEXT) || memcmp(text, TEXT, strlen(TEXT)) != 0)
            return 4;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "first";
    unsigned sum = 0;
    if (strcmp(how, "first") == 0)
        close_from(3);
    nvtx_work(10, 10);
    if (strcmp(how, "later") == 0)
        gpu_start();
    for (int round = 0; round < 5; round++) {
        close_from(strcmp(how, "all") == 0 ? 0 : 3);
        open_files();
        nvtx_work(20000, 100);
        if (strcmp(how, "later") == 0)
            sum += gpu_work(20);
        if (check_files() != 0)
            _exit(4);
    }
    printf("%08x\n", sum);
    return 0;
}
