import struct


def digest(dtype, count, data):
    """The digest of `count` elements of a type, whose little-endian bytes in C order are `data`."""
    def mix(seed, n):
        z = (seed + (n + 1) * 0x9e3779b97f4a7c15) % 2**64
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 % 2**64
        z = (z ^ z >> 27) * 0x94d049bb133111eb % 2**64
        return z ^ z >> 31

    data += bytes(-len(data) % 4)
    words = struct.unpack(f"<{len(data) // 4}I", data)
    factors = [mix(1, r) >> 2 for r in range(1024)]
    total = 0
    for t in range(0, len(words), 1024):
        total += mix(2, t // 1024) * sum(w * a for w, a in zip(words[t:t + 1024], factors))
    total %= 2**127 - 1
    low, high = total % 2**64, total >> 64
    for seed in (count, 3, 4, 5):
        low, high = high ^ mix(seed, low), low
    return f"{dtype}:{count}:{high:016x}{low:016x}"
