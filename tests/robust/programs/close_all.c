/* Closes all descriptors but the standard ones, before NVTX and CUDA begin (`first`), or afterwards, again and again
 * (`later`), or the standard ones too (`all`); what the program then writes into files of its own is what is in them,
 * though much is recorded meanwhile, by many threads where there is a second argument. A real driver's descriptors are
 * closed too, and it works no more: `later` has used the GPU before, and `simulated` uses it between. */
#include "gpu.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#define FILES 40
#define THREADS 16
#define RANGES 20000
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

static void *mark(void *unused)
{
    (void)unused;
    nvtx_work(RANGES, 100);
    return NULL;
}

/* RANGES of ranges by each of COUNT threads, none: by this one. Meanwhile, with threads, descriptors go once more. */
static void mark_on(int count)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, mark, NULL);
    for (int i = 0; i < count && i < 5; i++) {
        usleep(3000);
        close_from(3);
        open_files();
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    if (count == 0)
        mark(NULL);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "first";
    int simulated = strcmp(how, "simulated") == 0;
    unsigned sum = 0;
    if (strcmp(how, "first") == 0)
        close_from(3);
    nvtx_work(10, 10);
    if (simulated || strcmp(how, "later") == 0) {
        gpu_start();
        sum += gpu_work(20);
    }
    for (int round = 0; round < 5; round++) {
        close_from(strcmp(how, "all") == 0 ? 0 : 3);
        open_files();
        mark_on(argc > 2 ? THREADS : 0);
        if (simulated)
            sum += gpu_work(20);
        if (check_files() != 0)
            _exit(4);
    }
    printf("%08x\n", sum);
    return 0;
}
