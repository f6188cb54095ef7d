/*
 * net_delay MS NAMESPACE NAMESPACE: joins two network namespaces by a cable that delays each packet by MS. It makes the
 * device `delay0` in both, prints "ready", and carries packets until it is killed. What `tc qdisc add ... netem delay`
 * does, for kernels without it. Needs root and /dev/net/tun.
 */
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PACKETS = 4096, PACKET_BYTES = 2048 };

/* Packets on their way in one direction, which arrive in their order. */
struct way {
    int from, to;
    uint64_t first, end; /* numbers of packets */
    struct packet {
        int64_t due;
        ssize_t size;
        char bytes[PACKET_BYTES];
    } packets[PACKETS];
};

static struct way ways[2];

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int open_end(const char *name)
{
    char path[256];
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    snprintf(path, sizeof(path), "/var/run/netns/%s", name);
    strcpy(request.ifr_name, "delay0");
    int place = open(path, O_RDONLY | O_CLOEXEC);
    if (place < 0 || setns(place, CLONE_NEWNET) != 0) {
        perror(path);
        exit(1);
    }
    int tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (tun < 0 || ioctl(tun, TUNSETIFF, &request) != 0) {
        perror("/dev/net/tun");
        exit(1);
    }
    close(place);
    return tun;
}

static void take(struct way *way, int64_t delay)
{
    while (way->end - way->first < PACKETS) {
        struct packet *packet = &way->packets[way->end % PACKETS];
        packet->size = read(way->from, packet->bytes, sizeof(packet->bytes));
        if (packet->size <= 0)
            return;
        packet->due = now() + delay;
        way->end++;
    }
}

/* Returns ns until the next is due. */
static int64_t pass(struct way *way)
{
    while (way->first < way->end) {
        struct packet *packet = &way->packets[way->first % PACKETS];
        int64_t left = packet->due - now();
        if (left > 0)
            return left;
        if (write(way->to, packet->bytes, (size_t)packet->size) < 0)
            packet->size = 0; /* lost, as on other cables */
        way->first++;
    }
    return INT64_C(100000000);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    int64_t delay = (int64_t)(atof(argv[1]) * 1e6);
    int ends[2] = {open_end(argv[2]), open_end(argv[3])};
    for (int i = 0; i < 2; i++)
        ways[i].from = ends[i], ways[i].to = ends[1 - i];
    puts("ready");
    fflush(stdout);
    for (;;) {
        int64_t first = pass(&ways[0]), second = pass(&ways[1]), left = first < second ? first : second;
        struct pollfd polled[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}};
        struct timespec time = {0, left};
        ppoll(polled, 2, &time, NULL);
        take(&ways[0], delay);
        take(&ways[1], delay);
    }
}
