using Tunnel2.RingPeer;

return args switch
{
    ["producer", var path, var seed] => Peer.Produce(path, int.Parse(seed, System.Globalization.CultureInfo.InvariantCulture)),
    ["reader", var path] => Peer.Read(path, register: false),
    ["registered-reader", var path] => Peer.Read(path, register: true),
    _ => 2,
};
