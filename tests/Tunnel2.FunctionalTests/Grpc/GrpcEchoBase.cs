using Grpc.Core;

namespace Tunnel2.FunctionalTests.Grpc;

/// <summary>The four kinds of call of a service whose messages are bytes, bound by hand in place of generated code.</summary>
[BindServiceMethod(typeof(GrpcEchoBase), nameof(BindService))]
public abstract class GrpcEchoBase
{
    private const string Name = "tunnel2.Echo";

    private static readonly Marshaller<byte[]> _bytes = Marshallers.Create(static message => message, static message => message);

    public static Method<byte[], byte[]> UnaryMethod { get; } = Create(MethodType.Unary, nameof(Unary));

    public static Method<byte[], byte[]> DownMethod { get; } = Create(MethodType.ServerStreaming, nameof(Down));

    public static Method<byte[], byte[]> UpMethod { get; } = Create(MethodType.ClientStreaming, nameof(Up));

    public static Method<byte[], byte[]> BothMethod { get; } = Create(MethodType.DuplexStreaming, nameof(Both));

    public static Method<byte[], byte[]> MissingMethod { get; } = Create(MethodType.Unary, "Missing");

    public static Method<byte[], byte[]> MissingServiceMethod { get; } =
        new(MethodType.Unary, "tunnel2.Missing", nameof(Unary), _bytes, _bytes);

    public abstract Task<byte[]> Unary(byte[] request, ServerCallContext context);

    public abstract Task Down(byte[] request, IServerStreamWriter<byte[]> responses, ServerCallContext context);

    public abstract Task<byte[]> Up(IAsyncStreamReader<byte[]> requests, ServerCallContext context);

    public abstract Task Both(IAsyncStreamReader<byte[]> requests, IServerStreamWriter<byte[]> responses, ServerCallContext context);

    public static void BindService(ServiceBinderBase binder, GrpcEchoBase? service)
    {
        ArgumentNullException.ThrowIfNull(binder);
        binder.AddMethod(UnaryMethod, service is null ? null : new UnaryServerMethod<byte[], byte[]>(service.Unary));
        binder.AddMethod(DownMethod, service is null ? null : new ServerStreamingServerMethod<byte[], byte[]>(service.Down));
        binder.AddMethod(UpMethod, service is null ? null : new ClientStreamingServerMethod<byte[], byte[]>(service.Up));
        binder.AddMethod(BothMethod, service is null ? null : new DuplexStreamingServerMethod<byte[], byte[]>(service.Both));
    }

    private static Method<byte[], byte[]> Create(MethodType type, string name) => new(type, Name, name, _bytes, _bytes);
}
