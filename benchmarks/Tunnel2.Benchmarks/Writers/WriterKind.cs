namespace Tunnel2.Benchmarks.Writers;

/// <summary>The writers in the race.</summary>
public enum WriterKind
{
    /// <summary>The baseline: a lock around each frame's send.</summary>
    LockPerFrame,

    /// <summary>V0: a bounded channel of pooled frames.</summary>
    FrameChannel,

    /// <summary>V1: a semaphore around a pipe.</summary>
    Pipe,

    /// <summary>V2: a queue of ready streams.</summary>
    ReadyStream,

    /// <summary>V3: direct copies below a high-water mark, a queue of streams above.</summary>
    Hybrid,
}

/// <summary>Makes writers.</summary>
internal static class Writer
{
    public static IFrameWriter Create(WriterKind kind, IFrameSink sink) => kind switch
    {
        WriterKind.LockPerFrame => new LockPerFrameWriter(sink),
        WriterKind.FrameChannel => new FrameChannelWriter(sink),
        WriterKind.Pipe => new PipeFrameWriter(sink),
        WriterKind.ReadyStream => new ReadyStreamWriter(sink),
        _ => new HybridWriter(sink),
    };
}
