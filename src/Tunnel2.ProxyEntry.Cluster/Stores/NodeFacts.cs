namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>What a node says of itself.</summary>
/// <param name="Node">Its name.</param>
/// <param name="Process">A random number of this process: two processes may have been given one name.</param>
/// <param name="LinkAddress">Where it accepts node links, or empty.</param>
/// <param name="Version">The version of the program.</param>
/// <param name="UplinkAddress">Where agents reach it, host:port, or empty.</param>
/// <param name="Zone">What may fail together with it, or empty.</param>
/// <param name="Domain">The domain below which it has its names, or empty.</param>
internal sealed record NodeFacts(
    string Node, Guid Process, string LinkAddress, string Version, string UplinkAddress = "", string Zone = "",
    string Domain = "");
