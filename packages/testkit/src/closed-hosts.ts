// Lists hosts that nothing named by a stranger may lead to: this machine, its networks and what is no public
// address, in the spellings that parsers of addresses take apart differently.
export const closedHosts: readonly string[] =
  `127.0.0.1 127.0.0.1. 127.1 127.0.1 127.255.255.254 0x7f.0.0.1 0x7f.1 0x7f000001 0177.0.0.1 017700000001 2130706433 00177.1 127.0.0.0x1
0.0.0.0 0 00 0x0 localhost LOCALHOST localhost. a.localhost ①②⑦.⓪.⓪.① 127。0。0。1 [::1] [0:0:0:0:0:0:0:1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1]
[0:0:0:0:0:ffff:7f00:1] [::127.0.0.1] [::7f00:1] [64:ff9b::7f00:1] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2001:0:7f00:1::] [fe80::1] [fc00::1] [fd00:ec2::254]
[fec0::1] [ff02::1] [100::1] 10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 0300.0250.0.1 192.168.1 169.254.169.254 0xa9fea9fe
2852039166 169.254.170.2 100.64.0.1 100.100.100.200 168.63.129.16 192.0.0.1 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1
255.255.255.255`.split(/\s+/);
