using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Fronts.Http2;

/// <summary>What the head of a running request counts for; nothing by default.</summary>
/// <param name="Bytes">Bytes.</param>
/// <param name="From">The address for which they count.</param>
internal readonly record struct LargeHead(int Bytes, AddressKey From);
