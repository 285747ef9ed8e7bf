namespace Tunnel2.Telemetry.Aggregation;

/// <summary>The hash of a record's group key. A static member of a struct, so that it is inlined into the router's loop.</summary>
internal interface IKeyHash<T>
    where T : struct
{
    static abstract uint Hash(in T record);
}
