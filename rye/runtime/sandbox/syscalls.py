"""The numbers of the Linux system calls that the filter names, for x86-64 and AArch64 (from the kernel's tables)."""

from __future__ import annotations

AUDIT_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The architecture that the kernel reports to a filter, by ``os.uname().machine``."""

NEWEST = 462
"""``mseal`` of Linux 6.10. Newer system calls are refused, because they have not been reviewed."""

_TABLE = """
ptrace 101 117
process_vm_readv 310 270
process_vm_writev 311 271
process_madvise 440 440
process_mrelease 448 448
kcmp 312 272
pidfd_getfd 438 438
pidfd_send_signal 424 424
keyctl 250 219
add_key 248 217
request_key 249 218
mount 165 40
umount2 166 39
pivot_root 155 41
chroot 161 51
move_mount 429 429
open_tree 428 428
fsopen 430 430
fsconfig 431 431
fsmount 432 432
fspick 433 433
mount_setattr 442 442
unshare 272 97
setns 308 268
bpf 321 280
perf_event_open 298 241
userfaultfd 323 282
io_uring_setup 425 425
io_uring_enter 426 426
io_uring_register 427 427
kexec_load 246 104
kexec_file_load 320 294
init_module 175 105
finit_module 313 273
delete_module 176 106
create_module 174 -
reboot 169 142
swapon 167 224
swapoff 168 225
syslog 103 116
acct 163 89
quotactl 179 60
quotactl_fd 443 443
settimeofday 164 170
clock_settime 227 112
clock_adjtime 305 266
adjtimex 159 171
sethostname 170 161
setdomainname 171 162
iopl 172 -
ioperm 173 -
modify_ldt 154 -
lookup_dcookie 212 18
open_by_handle_at 304 265
name_to_handle_at 303 264
fanotify_init 300 262
fanotify_mark 301 263
inotify_add_watch 254 27
vhangup 153 58
nfsservctl 180 42
uselib 134 -
_sysctl 156 -
sysfs 139 -
mbind 237 235
set_mempolicy 238 237
set_mempolicy_home_node 450 450
migrate_pages 256 238
move_pages 279 239
memfd_create 319 279
memfd_secret 447 447
shmget 29 194
shmat 30 196
shmctl 31 195
semget 64 190
semop 65 193
semctl 66 191
msgget 68 186
msgsnd 69 189
msgrcv 70 188
msgctl 71 187
mq_open 240 180
mq_unlink 241 181
sched_setscheduler 144 119
sched_setparam 142 118
sched_setattr 314 274
ioprio_set 251 30
statmount 457 457
listmount 458 458
clone 56 220
clone3 435 435
personality 135 92
prlimit64 302 261
setpriority 141 140
sched_setaffinity 203 122
socket 41 198
socketpair 53 199
connect 42 203
bind 49 200
listen 50 201
accept 43 202
accept4 288 242
sendto 44 206
sendmsg 46 211
sendmmsg 307 269
ioctl 16 29
fcntl 72 25
chmod 90 -
fchmod 91 52
fchmodat 268 53
fchmodat2 452 452
utime 132 -
utimes 235 -
futimesat 261 -
utimensat 280 88
chown 92 -
fchown 93 55
lchown 94 -
fchownat 260 54
setxattr 188 5
lsetxattr 189 6
fsetxattr 190 7
removexattr 197 14
lremovexattr 198 15
fremovexattr 199 16
kill 62 129
tkill 200 130
tgkill 234 131
rt_sigqueueinfo 129 138
rt_tgsigqueueinfo 297 240
"""


def numbers(machine: str) -> dict[str, int]:
    """Return the numbers by name, without calls that the architecture lacks. Raises KeyError for an unknown machine."""
    column = {"x86_64": 1, "aarch64": 2}[machine]
    rows = [line.split() for line in _TABLE.strip().split("\n")]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}
