namespace Tunnel2.Multiplexing.Streams;

/// <summary>Which end of an uplink this is: only one of them opens streams.</summary>
internal enum UplinkRole
{
    /// <summary>ProxyEntry: opens streams.</summary>
    Entry,

    /// <summary>The agent: accepts streams.</summary>
    Agent,
}
