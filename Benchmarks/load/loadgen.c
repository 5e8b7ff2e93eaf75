// The backend and the load generators of the benchmarks. One process and one thread each, over epoll, and cheaper than
// any proxy: who receives in bulk drops the bytes in the kernel (MSG_TRUNC), who sends does so from one hot buffer.
//
//   loadgen backend PORT
//       serves everything below, and says "ready"
//   loadgen bulk PORT down|up CONNECTIONS SECONDS [REPORT_MS]
//       moves blocks of 8 MiB for so long, then waits for the last byte of what was begun; with REPORT_MS, says so
//       often how many bytes have moved by then
//   loadgen connect PORT WORKERS COUNT [client|server|reset|mix [ADDRESSES]]
//       connects, asks, is answered, ends: COUNT times, WORKERS at a time. The last but one says who ends the
//       connection (mix: each way in turn), the last from how many loopback addresses it connects
//   loadgen rounds PORT CONNECTIONS SECONDS [INTERVAL_US [REPORT_MS [way]]]
//       round trips of 64 bytes. With an interval, each connection begins one so often; without, one after the other.
//       SECONDS 0 goes on until standard input ends; REPORT_MS prints a line so often and forgets what was before, if it
//       isn't 0. With "way" the way back is told by itself: from when the server sends to when bytes are in the socket
//   loadgen meter PORT SECONDS BIN_MS
//       downloads and counts the bytes of each bin
//   loadgen idle PORT COUNT
//       opens COUNT connections and obeys the lines "use" (a round trip on each) and "close"
//
// Results are one line of JSON. What goes wrong is told on standard error, with exit code 1.
#include <sys/resource.h>

#include "loadgen.h"

unsigned char buffer[bufferSize];
int epoll;

int main(int count, char **words) {
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0, x = 88172645463325252u; i < bufferSize; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        buffer[i] = (unsigned char)(x >> 24);
    }
    epoll = epoll_create1(EPOLL_CLOEXEC);
    const char *verb = count > 2 ? words[1] : "";
    int port = count > 2 ? atoi(words[2]) : 0;
    if (!strcmp(verb, "backend") && count == 3) backend(port);
    if (!strcmp(verb, "bulk") && count >= 6)
        return bulk(port, !strcmp(words[3], "up"), atoi(words[4]), atof(words[5]),
                    count > 6 ? strtoull(words[6], NULL, 10) : 0);
    if (!strcmp(verb, "connect") && count >= 5) {
        static const char *const names[] = {"client", "server", "reset", "mix"};
        enum ending ending = byClient;
        for (int i = 0; count > 5 && i < 4; i++)
            if (!strcmp(words[5], names[i])) ending = (enum ending)i;
        return connections(port, atoi(words[3]), atol(words[4]), ending, count > 6 ? atoi(words[6]) : 1);
    }
    if (!strcmp(verb, "rounds") && count >= 5)
        return rounds(port, atoi(words[3]), atof(words[4]), count > 5 ? strtoull(words[5], NULL, 10) : 0,
                      count > 6 ? strtoull(words[6], NULL, 10) : 0, count > 7 && !strcmp(words[7], "way"));
    if (!strcmp(verb, "meter") && count == 5) return meter(port, atof(words[3]), strtoull(words[4], NULL, 10));
    if (!strcmp(verb, "idle") && count == 4) return idle(port, atoi(words[3]));
    fputs("usage: see the head of loadgen.c\n", stderr);
    return 2;
}
