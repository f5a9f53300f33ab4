"""Reads a trace of `ptxgen run --trace`: checks that it is well formed (every slice closed, ends
after its begin, times that do not go back, flows that end where one began), and prints its slices,
flows and counters (largest and last value), a line each."""
import sys


def fields(data):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
        elif kind == 1:
            yield key >> 3, int.from_bytes(data[at:at + 8], "little")
            at += 8
        elif kind == 2:
            size = varint()
            assert at + size <= len(data), "a field reaches past its message"
            yield key >> 3, data[at:at + size]
            at += size
        else:
            raise AssertionError(f"wire type {kind}")


tracks, stacks, begun, counters, slices, last = {}, {}, {}, {}, [], 0
for number, packet in fields(open(sys.argv[1], "rb").read()):
    assert number == 1, "not a packet"
    packet = dict(fields(packet))
    assert packet[10] == 1
    if 60 in packet:
        track = dict(fields(packet[60]))
        name = track[2] if 2 in track else dict(fields(track[3]))[6]
        tracks[track[1]] = (name.decode(), track.get(5), 8 in track)
        assert track.get(5) is None or track[5] in tracks, "a track without its parent"
        continue
    time = packet.get(8, 0)
    assert time >= last, "time goes back"
    last = time
    event, flows, ends = {}, [], []
    for field, value in fields(packet[11]):
        (
            flows if field == 47 else ends if field == 48 else [event.__setitem__(field, value)]
        ).append(value)
    uuid, kind = event[11], event[9]
    name, parent, counter = tracks[uuid]
    assert counter == (kind == 4), "a counter and a slice on one track"
    place = f"{tracks[parent][0]} / {name}" if parent else name
    if kind == 1:
        stacks.setdefault(uuid, []).append(time)
        slices.append((place, event[23].decode(), flows, ends))
    elif kind == 2:
        assert stacks.get(uuid), f"an end without a begin on {place}"
        stacks[uuid].pop()
    else:
        assert kind == 4 and 30 in event
        counters.setdefault(place, []).append(event[30])
assert not any(stacks.values()), "a slice is not closed"
for place, name, flows, ends in slices:
    for flow in flows:
        begun.setdefault(flow, (place, name))
for place, name, flows, ends in slices:
    print(f"slice\t{place}\t{name}")
    for flow in ends:
        assert flow in begun, "a flow ends that nothing began"
        print(f"flow\t{begun[flow][1]}\t{name}\t{place}")
for place, values in counters.items():
    print(f"counter\t{place}\t{max(values)}\t{values[-1]}")
