/*
 * control: a program that decides itself what is recorded, through gputrace.h. Needs no GPU and no CUDA driver.
 *
 *     gputrace run --capture-range=api ./control
 *     gputrace run ./control all              (recording is on from the beginning)
 *
 * A correct trace holds the marks "recorded" and the range of that name, and with `all` the mark "before"; never the
 * marks "paused".
 */
#include <gputrace/gputrace.h>
#include <nvtx3/nvToolsExt.h>

#include "statement.h"

enum { THREADS = 4 };

static void mark(const char *message)
{
    nvtxMarkA(message);
    state("nvtx mark \"%s\"", message);
    state_count("marks", 1);
}

/* Any thread may ask; the answer is the same in all of them. */
static void *ask(void *answer)
{
    *(int *)answer = gputrace_active();
    mark("recorded");
    return NULL;
}

/* How many of several threads find recording on. */
static int ask_all(void)
{
    pthread_t threads[THREADS];
    int answers[THREADS], sum = 0;
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, ask, &answers[i]) != 0) {
            perror("cannot start a thread");
            exit(1);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += answers[i];
    }
    return sum;
}

int main(int argc, char **argv)
{
    state_silent(argc < 2 || strcmp(argv[1], "all") != 0);
    mark("before");
    gputrace_start();
    state_silent(false);
    int active = ask_all();

    gputrace_stop();
    state_silent(true);
    int paused = gputrace_active();
    mark("paused");

    gputrace_start();
    state_silent(false);
    nvtxRangePushA("recorded");
    did_range("recorded");
    nvtxRangePop();
    gputrace_stop();
    state_silent(true);
    mark("paused");

    printf("recording: %d of %d threads found it on, %d in the pause\n", active, (int)THREADS, paused);
    state_print();
    return 0;
}
