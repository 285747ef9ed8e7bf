namespace Tunnel2.ClusterFaults;

/// <summary>The suite cannot measure, for a reason that the message says.</summary>
internal sealed class FaultSuiteException(string message) : Exception(message);
