namespace Tunnel2.Telemetry.Aggregation;

/// <summary>Hash of a record's group key. A struct's static member, so that the router's loop has it inlined.</summary>
internal interface IKeyHash<T>
    where T : struct
{
    static abstract uint Hash(in T record);
}
