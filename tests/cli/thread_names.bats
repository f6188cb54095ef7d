#!/usr/bin/env bats
# Threads have the names that they had last.

load common

@test "a thread has its last name, whoever gave it; that of NVTX goes first" {
    cat >names.c <<'PROGRAM'
#define _GNU_SOURCE
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <unistd.h>

static sem_t marked, never;

static void *end(void *unused)
{
    nvtxMarkA("ends");
    prctl(PR_SET_NAME, "ended", 0, 0, 0);
    return unused;
}

static void *stay(void *name)
{
    if (name)
        nvtxNameOsThreadA((uint32_t)gettid(), name);
    nvtxMarkA("stays");
    sem_post(&marked);
    sem_wait(&never);
    return NULL;
}

int main(void)
{
    pthread_t threads[3];
    sem_init(&marked, 0, 0);
    sem_init(&never, 0, 0);
    nvtxMarkA("main");
    pthread_create(&threads[0], NULL, end, NULL);
    pthread_join(threads[0], NULL);
    pthread_create(&threads[1], NULL, stay, NULL);
    pthread_create(&threads[2], NULL, stay, "by NVTX");
    sem_wait(&marked);
    sem_wait(&marked);
    pthread_setname_np(threads[1], "by another");
    pthread_setname_np(threads[2], "too late");
    prctl(PR_SET_NAME, "first thread", 0, 0, 0);
    return 0;
}
PROGRAM
    cc -I"${CUDA_HOME:-/usr/local/cuda}/include" -pthread -o program names.c -ldl
    script names "LD_PRELOAD=${sanitizer-} exec ./program"
    run -0 "$gputrace" run -o names.json ./names
    assert_equal "$(jq -c '[.traceEvents[] | select(.name == "thread_name") | .args.name | sub("^thread [0-9]+ "; "")] | sort' names.json)" \
        '["(by NVTX)","(by another)","(ended)","(first thread)"]'
}
