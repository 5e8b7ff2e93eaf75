#include "CNetlink.h"

#include <errno.h>

#ifdef __linux__
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

int squall_open_network_changes(void) {
    int socket_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (socket_fd < 0) return -errno;
    struct sockaddr_nl address = {
        .nl_family = AF_NETLINK,
        .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE,
    };
    if (bind(socket_fd, (struct sockaddr *)&address, sizeof address) != 0) {
        int error = errno;
        close(socket_fd);
        return -error;
    }
    return socket_fd;
}
#else
int squall_open_network_changes(void) {
    return -ENOSYS;
}
#endif
